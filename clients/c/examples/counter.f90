! A Fortran program with checkpoints, by ISO_C_BINDING: counter RANK RANKS STEPS MILLISECONDS.
! Under srun the rank is SLURM_PROCID.
module whesl_ckpt
  use, intrinsic :: iso_c_binding
  implicit none
  interface
    function whesl_ckpt_init(rank, ranks) bind(c)
      import :: c_int, c_ptr
      integer(c_int), value :: rank, ranks
      type(c_ptr) :: whesl_ckpt_init
    end function
    function whesl_ckpt_poll(ckpt) bind(c, name="whesl_ckpt_poll_")
      import :: c_int, c_ptr
      type(c_ptr), value :: ckpt
      integer(c_int) :: whesl_ckpt_poll
    end function
    function whesl_ckpt_path(ckpt) bind(c)
      import :: c_ptr
      type(c_ptr), value :: ckpt
      type(c_ptr) :: whesl_ckpt_path
    end function
    function whesl_ckpt_commit(ckpt, path) bind(c)
      import :: c_int, c_ptr
      type(c_ptr), value :: ckpt, path
      integer(c_int) :: whesl_ckpt_commit
    end function
    subroutine whesl_ckpt_give_up(ckpt, why) bind(c)
      import :: c_ptr, c_char
      type(c_ptr), value :: ckpt
      character(kind=c_char), intent(in) :: why(*)
    end subroutine
    function whesl_ckpt_restore(ckpt, path, size) bind(c)
      import :: c_int, c_ptr, c_char, c_size_t
      type(c_ptr), value :: ckpt
      character(kind=c_char), intent(out) :: path(*)
      integer(c_size_t), value :: size
      integer(c_int) :: whesl_ckpt_restore
    end function
    function whesl_ckpt_restore_all(ckpt, parts) bind(c)
      import :: c_int, c_ptr
      type(c_ptr), value :: ckpt
      integer(c_int), intent(out) :: parts
      integer(c_int) :: whesl_ckpt_restore_all
    end function
    function whesl_ckpt_part(ckpt, rank, path, size) bind(c)
      import :: c_int, c_ptr, c_char, c_size_t
      type(c_ptr), value :: ckpt
      integer(c_int), value :: rank
      character(kind=c_char), intent(out) :: path(*)
      integer(c_size_t), value :: size
      integer(c_int) :: whesl_ckpt_part
    end function
    subroutine whesl_ckpt_shared(ckpt) bind(c)
      import :: c_ptr
      type(c_ptr), value :: ckpt
    end subroutine
    function whesl_ckpt_error(ckpt) bind(c)
      import :: c_ptr
      type(c_ptr), value :: ckpt
      type(c_ptr) :: whesl_ckpt_error
    end function
    subroutine whesl_ckpt_finish(ckpt) bind(c)
      import :: c_ptr
      type(c_ptr), value :: ckpt
    end subroutine
    subroutine c_sleep(microseconds) bind(c, name="usleep")
      import :: c_int
      integer(c_int), value :: microseconds
    end subroutine
  end interface
contains
  function text_of(pointer) result(text)
    type(c_ptr), intent(in) :: pointer
    character(len=:), allocatable :: text
    character(kind=c_char), pointer :: letters(:)
    integer :: length
    call c_f_pointer(pointer, letters, [4096])
    text = ""
    do length = 1, 4096
      if (letters(length) == c_null_char) exit
      text = text // letters(length)
    end do
  end function
end module

program counter
  use whesl_ckpt
  use, intrinsic :: iso_fortran_env, only: error_unit, int64
  implicit none
  type(c_ptr) :: ckpt
  character(kind=c_char, len=4096), target :: buffer
  character(len=32) :: argument
  integer(c_int) :: rank, ranks, pause, unit, status
  integer(int64) :: steps, step = 0, total = 0

  call get_environment_variable("SLURM_PROCID", argument, status=status)
  if (status /= 0) call get_command_argument(1, argument)
  read (argument, *) rank
  call get_command_argument(2, argument)
  read (argument, *) ranks
  call get_command_argument(3, argument)
  read (argument, *) steps
  call get_command_argument(4, argument)
  read (argument, *) pause

  ckpt = whesl_ckpt_init(rank, ranks)
  status = whesl_ckpt_restore(ckpt, buffer, int(len(buffer), c_size_t))
  if (status < 0) then
    write (error_unit, "(a,i0,2a)") "rank ", rank, ": ", text_of(whesl_ckpt_error(ckpt))
    stop 3
  end if
  if (status == 0) then
    open (newunit=unit, file=text_of(c_loc(buffer)), status="old", action="read")
    read (unit, *) step, total
    close (unit)
    print "(a,i0,a,i0)", "rank ", rank, " restored step ", step
    flush (6)
  end if
  do while (step < steps)
    call c_sleep(1000 * pause)
    step = step + 1
    total = total + step * (rank + 1)
    if (whesl_ckpt_poll(ckpt) == 0) cycle
    open (newunit=unit, file=text_of(whesl_ckpt_path(ckpt)), action="write", iostat=status)
    if (status == 0) write (unit, *, iostat=status) step, total
    if (status == 0) close (unit, iostat=status)
    if (status /= 0) then
      call whesl_ckpt_give_up(ckpt, "the state cannot be written" // c_null_char)
    else
      status = whesl_ckpt_commit(ckpt, whesl_ckpt_path(ckpt))
    end if
  end do
  call whesl_ckpt_finish(ckpt)
  print "(a,i0,a,i0,1x,i0)", "rank ", rank, " ends at ", step, total
end program
