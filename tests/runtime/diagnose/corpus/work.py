"""What programs print while all is well: banners, steps, and words that only sound like trouble."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random

Steps = Callable[[Random, int, int], Iterator[str]]


def torch(rng: Random, first: int, count: int) -> Iterator[str]:
    for n in range(first, first + count):
        yield f"epoch {n // 500} step {n} | loss {2.5 - n * 1e-4 + rng.random() / 50:.4f} | lr 3.0e-04 | 412.3 ms/it"


def megatron(rng: Random, first: int, count: int) -> Iterator[str]:
    for n in range(first, first + count):
        yield (
            f" iteration {n:8}/  500000 | consumed samples: {n * 512:12} | elapsed time per iteration (ms): "
            f"{900 + rng.random() * 9:.1f} | learning rate: 1.500E-04 | global batch size:   512 | lm loss: "
            f"{3 - n * 1e-5 + rng.random() / 100:.6E} | loss scale: 1.0 | grad norm: {rng.random():.3f} | "
            "number of skipped iterations:   0 | number of nan iterations:   0 |"
        )


def lammps(rng: Random, first: int, count: int) -> Iterator[str]:
    yield "   Step          Temp          E_pair         E_mol          TotEng         Press"
    for n in range(first, first + count):
        yield f"{n * 100:9} {1.4 + rng.random() / 9:14.6f} {-6.77 + rng.random() / 99:14.6f}              0 {-4.6:14.6f} {5.1:14.6f}"


def gromacs(rng: Random, first: int, count: int) -> Iterator[str]:
    for n in range(first, first + count):
        yield "           Step           Time"
        yield f"      {n * 5000:9}      {n * 10:9.5f}"
        yield f"   Potential    Kinetic En.   Total Energy  Temperature: {-5.2e5 + rng.random():.5e} {9e4:.5e} {-4.3e5:.5e} 300.1"


def vasp(rng: Random, first: int, count: int) -> Iterator[str]:
    for n in range(first, first + count):
        yield f"DAV: {n % 20 + 1:3}    -0.{rng.randrange(10**9):09}E+03   -0.{rng.randrange(10**5):05}E-0{rng.randrange(1, 9)}   -0.12345E-03 12345   0.341E-01"


def openfoam(rng: Random, first: int, count: int) -> Iterator[str]:
    for n in range(first, first + count):
        yield f"Time = {n * 0.005:.3f}"
        yield f"Courant Number mean: {rng.random() / 9:.6f} max: {rng.random():.6f}"
        yield f"smoothSolver:  Solving for Ux, Initial residual = {rng.random() / 99:.9f}, Final residual = {rng.random() / 10**7:.4e}, No Iterations 2"
        yield f"time step continuity errors : sum local = {rng.random() / 10**8:.4e}, global = -1.2e-19, cumulative = 3.4e-18"


def wrf(rng: Random, first: int, count: int) -> Iterator[str]:
    for n in range(first, first + count):
        yield f"Timing for main: time 2020-01-01_{n // 60 % 24:02}:{n % 60:02}:00 on domain   1:    {rng.random() + 1:.5f} elapsed seconds"


def solver(rng: Random, first: int, count: int) -> Iterator[str]:
    for n in range(first, first + count):
        yield f"cycle = {n}, time = {n * 1e-4:.6e}, dt={1e-7 + rng.random() / 10**9:.6e}, residual = {rng.random() / 10**5:.3e}"


def cp2k(rng: Random, first: int, count: int) -> Iterator[str]:
    for n in range(first, first + count):
        yield f"  {n % 40 + 1:3} OT DIIS     0.15E+00    1.2     0.0000{rng.randrange(10**4):04}     -1234.{rng.randrange(10**10):010} -1.2E-05"


def qe(rng: Random, first: int, count: int) -> Iterator[str]:
    for n in range(first, first + count):
        yield f"     iteration #{n % 30 + 1:3}     ecut=    60.00 Ry     beta= 0.70"
        yield f"     total cpu time spent up to now is {n * 3 + rng.random():10.1f} secs"
        yield f"     estimated scf accuracy    <       0.0000{rng.randrange(10**4):04} Ry"


def namd(rng: Random, first: int, count: int) -> Iterator[str]:
    for n in range(first, first + count):
        yield f"ENERGY:  {n * 100:6}     {rng.random() * 9000:.4f}      1234.5678       567.8901        12.3456        -98765.4321  300.1"


def tasks(rng: Random, first: int, count: int) -> Iterator[str]:
    for n in range(first, first + count):
        yield f"[{n:06}] processed sample {rng.randrange(10**6)}: 42 records in {rng.random():.3f} s"


def spark(rng: Random, first: int, count: int) -> Iterator[str]:
    for n in range(first, first + count):
        yield f"24/05/01 12:{n // 60 % 60:02}:{n % 60:02} INFO TaskSetManager: Finished task {n}.0 in stage 3.0 (TID {n}) in {rng.randrange(999)} ms on n0{rng.randrange(1, 5)} (executor 2) ({n}/9999)"


def jax(rng: Random, first: int, count: int) -> Iterator[str]:
    for n in range(first, first + count):
        yield f"I0501 12:{n // 60 % 60:02}:{n % 60:02}.{rng.randrange(10**6):06} 4711 train.py:88] step: {n}, loss: {2 + rng.random():.4f}, steps/sec: 3.2"


def snakemake(rng: Random, first: int, count: int) -> Iterator[str]:
    for n in range(first, first + count):
        yield f"[Wed May  1 12:{n // 60 % 60:02}:{n % 60:02} 2024]"
        yield f"Finished job {n}."
        yield f"{n} of 9999 steps ({n // 100}%) done"


PROGRAMS: dict[str, Steps] = {
    "torch": torch,
    "megatron": megatron,
    "lammps": lammps,
    "gromacs": gromacs,
    "vasp": vasp,
    "openfoam": openfoam,
    "wrf": wrf,
    "solver": solver,
    "cp2k": cp2k,
    "qe": qe,
    "namd": namd,
    "tasks": tasks,
    "spark": spark,
    "jax": jax,
    "snakemake": snakemake,
}
ENDS: dict[str, list[str]] = {
    "torch": ["saving final checkpoint to /scratch/me/run7/last.pt", "Training complete."],
    "megatron": ["[after training is done] datetime: 2024-05-01 14:00:00"],
    "lammps": [
        "Loop time of 123.4 on 64 procs for 100000 steps with 32000 atoms",
        "Total wall time: 0:02:05",
    ],
    "gromacs": [
        "Writing final coordinates.",
        "               Core t (s)   Wall t (s)        (%)",
        "Finished mdrun on rank 0 Wed May  1 12:00:00 2024",
    ],
    "vasp": [" writing wavefunctions", "   1 F= -.12345678E+03 E0= -.12345678E+03  d E =-.123456E-03"],
    "openfoam": ["ExecutionTime = 1234.5 s  ClockTime = 1240 s", "End", "Finalising parallel run"],
    "wrf": ["d01 2020-01-02_00:00:00 wrf: SUCCESS COMPLETE WRF"],
    "solver": ["Run completed:", "Elapsed time         =     123.45 (s)", "Grind time (us/z/c)  = 0.123"],
    "cp2k": [
        " The number of warnings for this run is : 2",
        "  **** **** ******  **  PROGRAM ENDED AT  2024-05-01 12:00:00.123",
    ],
    "qe": ["     PWSCF        :   1h 2m CPU   1h 5m WALL", "   JOB DONE."],
    "namd": [
        "WallClock: 1234.500000  CPUTime: 1230.100000  Memory: 512.0 MB",
        "[Partition 0][Node 0] End of program",
    ],
    "tasks": ["all 9999 samples processed, 0 failed"],
    "spark": ["24/05/01 13:00:00 INFO SparkContext: Successfully stopped SparkContext"],
    "jax": ["I0501 13:00:00.000001 4711 train.py:120] Training finished."],
    "snakemake": [
        "9999 of 9999 steps (100%) done",
        "Complete log: .snakemake/log/2024-05-01T120000.snakemake.log",
    ],
}
HEAD = [
    "Loading gcc/12.2",
    "  Loading requirement: zlib/1.2.13",
    "Job 4711 on n[01-04], started by me",
    "#SBATCH --error=job-%j.err",
    "OMP_NUM_THREADS=8",
    "export NCCL_DEBUG=WARN",
    "reading parameters from input.yaml",
    "n01:4711:4711 [0] NCCL INFO Bootstrap : Using ib0:10.0.0.1<0>",
    "max errors allowed: 5",
    "error tolerance = 1e-06",
    "stop_on_error: true",
    "timeout: 1800",
    "git commit 0badf00d",
    "fatal_signals: [11, 6]",
]
# Printed by jobs that end well.
NOISE = [
    "/usr/lib/python3/site-packages/x.py:12: FutureWarning: `torch.load` with `weights_only=False` may raise an error in a future release.",
    "[W socket.cpp:601] [c10d] The IPv6 network addresses of (n01, 29500) cannot be retrieved (gai error: -2 - Name or service not known).",
    "WARNING: There was an error initializing an OpenFabrics device.",
    "Note: The following floating-point exceptions are signalling: IEEE_DENORMAL",
    "n02:4712:4790 [1] NCCL INFO NET/IB : No device found.",
    "srun: warning: can't honor --ntasks-per-node set to 4",
    "WARN could not open /etc/site.conf: No such file or directory, using defaults",
    "connect to n03:9999 failed: Connection refused, retrying (1/5)",
    "slow read: 3 retries, recovered",
    "[n01:12345] 3 more processes have sent help message help-mpi-btl-openib.txt / error in device init",
    "validation error: 0.0123 (best 0.0119)",
    "max relative error 1.2e-05 after refinement",
    "checkpoint of step 500 written, 0 errors",
    "OVERFLOW! Rank 0 Skipping step. Attempted loss scale: 65536, reducing to 32768",
    "warning: unused parameter 'abort_on_nan'",
    "INFO: error handling: abort",
    "cuBLAS warm-up failed once, falling back to default algorithm",
    "UserWarning: os.fork() was called. os.fork() is incompatible with multithreaded code, and may deadlock.",
]
