// A C++ program with checkpoints: counter RANK RANKS STEPS MILLISECONDS. Under srun the rank is SLURM_PROCID.
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <memory>
#include <string>
#include <thread>

#include "whesl_ckpt.h"

int main(int argc, char **argv)
{
    if (argc < 5) return std::cerr << "counter RANK RANKS STEPS MILLISECONDS\n", 2;
    const char *task = std::getenv("SLURM_PROCID");
    const int rank = std::atoi(task ? task : argv[1]);
    const long steps = std::atol(argv[3]);
    const std::chrono::milliseconds pause(std::atol(argv[4]));
    long step = 0, sum = 0;

    std::unique_ptr<whesl_ckpt, decltype(&whesl_ckpt_finish)> ckpt(whesl_ckpt_init(rank, std::atoi(argv[2])),
                                                                   whesl_ckpt_finish);
    std::string path(4096, '\0');
    const int found = whesl_ckpt_restore(ckpt.get(), &path[0], path.size());
    if (found < 0) return std::cerr << "rank " << rank << ": " << whesl_ckpt_error(ckpt.get()) << '\n', 3;
    if (found == 0) {
        if (!(std::ifstream(path.c_str()) >> step >> sum)) return 3;
        std::cout << "rank " << rank << " restored step " << step << std::endl;
    }
    while (step < steps) {
        std::this_thread::sleep_for(pause);
        step++;
        sum += step * (rank + 1);
        if (!whesl_ckpt_poll(ckpt.get())) continue;
        std::ofstream file(whesl_ckpt_path(ckpt.get()));
        file << step << ' ' << sum << '\n';
        file.close();
        if (!file)
            whesl_ckpt_give_up(ckpt.get(), "the state cannot be written");
        else if (whesl_ckpt_commit(ckpt.get(), whesl_ckpt_path(ckpt.get())))
            std::cerr << "rank " << rank << ": " << whesl_ckpt_error(ckpt.get()) << '\n';
    }
    std::cout << "rank " << rank << " ends at " << step << ' ' << sum << std::endl;
}
