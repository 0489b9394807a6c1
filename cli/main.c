/* rer: finds the command and runs it. */
#include "cli.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static const cli_command *const commands[] = {&analyze_command, &score_command, &scale_command,      &compare_command,
                                              &sweep_command,   &noise_command, &bench_command,      &review_command,
                                              &apply_command,   &embed_command, &completions_command};

enum { N_COMMANDS = sizeof commands / sizeof commands[0] };

const cli_command *command_at(int index)
{
    return index < N_COMMANDS ? commands[index] : NULL;
}

static const char *command_name(int index, const void *unused)
{
    (void)unused;
    return commands[index]->name;
}

static int run_command(const cli_command *command, int argc, char **argv)
{
    cli_arguments parsed;
    rer_error error = {0};
    int code = 0;
    rer_status status = parse_arguments(&parsed, command, argc, argv, &error);
    if (status == RER_OK && parsed.color != NULL)
        status = colours_choose(parsed.color, &error);
    if (status == RER_OK && !parsed.help)
        status = check_outputs(&parsed, command, &error);
    if (status != RER_OK)
        code = report_failure(&error);
    else if (parsed.help)
        print_command_help(command, parsed.options);
    else {
        progress_expect(command->analyses > 0 ? command->analyses : 1);
        code = command->run(&parsed);
    }
    free_arguments(&parsed);
    return code;
}

static int run(int argc, char **argv)
{
    char hint[100];
    const char *name = argc > 1 ? argv[1] : "";
    for (int i = 0; i < N_COMMANDS; i++)
        if (strcmp(name, commands[i]->name) == 0)
            return run_command(commands[i], argc - 2, argv + 2);
    if (argc < 2) { /* a script that lost its command still fails */
        print_help();
        return RER_BAD_USAGE;
    }
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || strcmp(name, "help") == 0) {
        print_help();
        return 0;
    }
    if (strcmp(name, "--version") == 0) {
        say("rer %s (%s)\n", rer_version(), rer_kernels_in_use());
        return 0;
    }
    complain("unknown command %s%s (rer --help lists them)", name,
             suggest(hint, sizeof hint, "", name, command_name, NULL, N_COMMANDS));
    return RER_BAD_USAGE;
}

/* A standard stream that is closed (>&-) stays lost: no file that is opened later gets its number. */
static void hold_standard_streams(void)
{
    int fd;
    do
        fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd >= 0)
        (void)close(fd);
}

int run_program(int argc, char **argv)
{
    hold_standard_streams();
    signals_start();
    return end_output(run(argc, argv));
}
