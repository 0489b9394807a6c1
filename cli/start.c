/* The program by itself; the Python package starts it by its own entry point. */
#include "cli.h"

int main(int argc, char **argv)
{
    return run_program(argc, argv);
}
