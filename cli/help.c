/* --help, from the same tables that the parser uses. */
#include "cli.h"

#include <string.h>

enum { NAME_COLUMNS = 29 };

static void print_option(const rer_option_info *info)
{
    char name[80];
    int used = snprintf(name, sizeof name, "  --%s%s%s", info->name, info->is_flag ? "" : " ", info->metavar);
    for (int i = 0; i < used && name[i] != 0; i++)
        if (name[i] == '_')
            name[i] = '-';
    const char *fallback = info->is_flag ? "off" : info->fallback;
    int total = snprintf(NULL, 0, "%-*s %s [%s]", NAME_COLUMNS, name, info->help, fallback);
    if (total > LINE_WIDTH) /* the help has a line of its own */
        say("%s [%s]\n%-*s %s\n", name, fallback, NAME_COLUMNS, "", info->help);
    else
        say("%-*s %s [%s]\n", NAME_COLUMNS, name, info->help, fallback);
}

/* Options of one reconstructor, detector or device are shown when it is the one that was chosen. */
static bool is_shown(const rer_option_info *info, const char *reconstructor, const char *detector, const char *device)
{
    if (info->only_for == NULL)
        return true;
    if (strncmp(info->only_for, "rer ", 4) != 0)
        return strstr(info->only_for, reconstructor) != NULL;
    const char *kind = strchr(info->only_for + 4, ' ');
    return kind == NULL || strcmp(kind + 1, detector) == 0 || strstr(device, kind + 1) == device;
}

void print_command_help(const cli_command *command, const rer_options *options)
{
    const rer_option_info *info;
    char reconstructor[32] = "", detector[32] = "", device[32] = "";
    (void)rer_options_get(options, "reconstructor", reconstructor, sizeof reconstructor, NULL);
    (void)rer_options_get(options, "detector", detector, sizeof detector, NULL);
    (void)rer_options_get(options, "device", device, sizeof device, NULL);
    say("usage: rer %s %s\n%s\n", command->name, command->usage, command->purpose);
    for (int i = 0; (info = command_option(command, i)) != NULL; i++)
        if (is_shown(info, reconstructor, detector, device))
            print_option(info);
    bool on_one_line = strlen(command->examples[0]) + strlen(command->examples[1]) + 13 <= LINE_WIDTH;
    say(on_one_line ? "examples: %s;  %s\n" : "examples: %s\n          %s\n", command->examples[0],
        command->examples[1]);
}

void print_help(void)
{
    const cli_command *command;
    say("rer finds wrong labels and measures how hard a labelled data set is.\n\n");
    say("usage: rer COMMAND ... (rer COMMAND --help says more)\n\n");
    for (int i = 0; (command = command_at(i)) != NULL; i++)
        say("  rer %s %s\n      %s\n", command->name, command->usage, command->purpose);
    say("\n  rer --help, rer --version\n\n");
    say("Exit codes: 0 done, 1 bad input, 2 bad usage, 3 system (memory, disk, permission),\n");
    say("130 and 143 interrupted.\n");
}
