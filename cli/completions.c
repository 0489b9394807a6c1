/* rer completions: what a shell offers at the tab key, from the tables that the parser uses.
 *
 * A script has a head, for each command its head, a line for each option and its end, and an end. What may stand
 * after an option comes from its metavar: words in small letters are offered as they are, FILE and PATH are files,
 * DIR is a folder, and for numbers nothing is offered. */
#include "cli.h"

#include <string.h>

typedef struct offered {
    char words[128]; /* between blanks */
    bool files, folders;
} offered;

typedef struct shell_script {
    const char *name;
    void (*begin)(void);
    void (*command)(const cli_command *command);
    void (*option)(const cli_command *command, const rer_option_info *info, const offered *values);
    void (*command_end)(const cli_command *command);
    void (*end)(void);
} shell_script;

static offered values_of(const char *metavar)
{
    offered found = {0};
    for (const char *word = metavar; *word != 0;) {
        size_t length = strcspn(word, "|,"), used = strlen(found.words);
        if (strncmp(word, "FILE", 4) == 0 || strncmp(word, "PATH", 4) == 0)
            found.files = true;
        else if (strncmp(word, "DIR", 3) == 0)
            found.folders = true;
        else if (strspn(word, "abcdefghijklmnopqrstuvwxyz-") >= length)
            (void)snprintf(found.words + used, sizeof found.words - used, "%s%.*s", used > 0 ? " " : "", (int)length,
                           word);
        word += length + (word[length] != 0);
    }
    return found;
}

/* Between single quotes: the letters of `special` get a backslash, a quote becomes what the shell wants for one. */
static void print_quoted(const char *text, const char *special, const char *quote)
{
    for (; *text != 0; text++)
        if (*text == '\'')
            fputs(quote, stdout);
        else
            printf("%s%c", strchr(special, *text) != NULL ? "\\" : "", *text);
}

/* ---- bash -------------------------------------------------------------------------------- */

static void bash_begin(void)
{
    puts("# rer: completions for bash, made by rer completions bash\n"
         "_rer()\n{\n"
         "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} options='' words='' "
         "offer=files\n"
         "    COMPREPLY=()\n"
         "    [[ $word != = ]] || word=\n"
         "    [[ $before != = ]] || before=${COMP_WORDS[COMP_CWORD - 2]}\n"
         "    case $((COMP_CWORD == 1)):${COMP_WORDS[1]} in");
    fputs("    1:*) options='--help --version' words='", stdout);
    for (int i = 0; command_at(i) != NULL; i++)
        printf("%s%s", i > 0 ? " " : "", command_at(i)->name);
    puts("' offer= ;;");
}

static void bash_command(const cli_command *command)
{
    const rer_option_info *info;
    printf("    0:%s)\n        options='", command->name);
    for (int i = 0; (info = command_option(command, i)) != NULL; i++)
        printf("%s--%s", i > 0 ? " " : "", info->name);
    puts("'\n        case $before in");
}

static void bash_option(const cli_command *command, const rer_option_info *info, const offered *values)
{
    (void)command;
    if (!info->is_flag)
        printf("        --%s) words='%s' offer=%s ;;\n", info->name, values->words,
               values->files     ? "files"
               : values->folders ? "folders"
                                 : "");
}

static void bash_command_end(const cli_command *command)
{
    if (command->choices != NULL)
        printf("        *) words='%s' offer= ;;\n", values_of(command->choices).words);
    puts("        esac ;;");
}

/* Files alone are left to bash itself, which knows about ~ and quotes. */
static void bash_end(void)
{
    puts("    esac\n"
         "    [[ $word != -* ]] || words=$options offer=\n"
         "    mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$word\")\n"
         "    case $offer in\n"
         "    files)\n"
         "        [ -z \"$words\" ] || mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -f -- \"$word\")\n"
         "        compopt -o filenames ;;\n"
         "    folders) compopt +o default -o dirnames ;;\n"
         "    *) compopt +o default ;;\n"
         "    esac\n"
         "}\n"
         "complete -o default -F _rer rer");
}

/* ---- zsh --------------------------------------------------------------------------------- */

#define ZSH_SPECIAL "[]:\\"
#define ZSH_QUOTE "'\\''"

static void zsh_begin(void)
{
    puts("#compdef rer\n# rer: completions for zsh, made by rer completions zsh\n"
         "_rer()\n{\n    local name=$words[2]\n    if ((CURRENT == 2)); then\n        local -a commands=(");
    for (int i = 0; command_at(i) != NULL; i++) {
        printf("            '%s:", command_at(i)->name);
        print_quoted(command_at(i)->purpose, ZSH_SPECIAL, ZSH_QUOTE);
        puts("'");
    }
    puts("        )\n        _describe command commands\n        _arguments '--help[list the commands]' "
         "'--version[print it]'\n"
         "        return\n    fi\n    shift words\n    ((CURRENT--))\n    case $name in");
}

static void zsh_command(const cli_command *command)
{
    printf("    %s)\n        _arguments \\\n", command->name);
}

static void zsh_values(const offered *values)
{
    const char *files = values->files ? "_files" : "_files -/";
    if (!values->files && !values->folders)
        printf("(%s)", values->words);
    else if (values->words[0] == 0)
        fputs(files, stdout);
    else
        printf("{compadd - %s; %s}", values->words, files);
}

static void zsh_option(const cli_command *command, const rer_option_info *info, const offered *values)
{
    (void)command;
    printf("            '--%s%s[", info->name, info->is_flag ? "" : "=");
    print_quoted(info->help, ZSH_SPECIAL, ZSH_QUOTE);
    putchar(']');
    if (!info->is_flag) {
        putchar(':');
        print_quoted(info->metavar, ZSH_SPECIAL, ZSH_QUOTE);
        putchar(':');
        zsh_values(values);
    }
    puts("' \\");
}

static void zsh_command_end(const cli_command *command)
{
    if (command->choices != NULL)
        printf("            ':one of them:(%s)' ;;\n", values_of(command->choices).words);
    else
        puts("            '*:file:_files' ;;");
}

/* Either it is loaded as a function, which is called the first time, or it is sourced. */
static void zsh_end(void)
{
    puts("    esac\n}\nif [ \"$funcstack[1]\" = _rer ]; then\n    _rer \"$@\"\nelse\n    compdef _rer rer\nfi");
}

/* ---- fish -------------------------------------------------------------------------------- */

#define FISH_SPECIAL "\\"
#define FISH_QUOTE "\\'"

static void fish_begin(void)
{
    puts("# rer: completions for fish, made by rer completions fish\n"
         "function __rer_command_is\n"
         "    set -l words (commandline -opc)\n"
         "    test (count $words) -gt 1; and test $words[2] = $argv[1]\n"
         "end\n"
         "function __rer_has_no_command\n"
         "    test (count (commandline -opc)) -eq 1\n"
         "end\n"
         "complete -c rer -n __rer_has_no_command -f -l help -d 'list the commands'\n"
         "complete -c rer -n __rer_has_no_command -f -l version -d 'print it'");
}

static void fish_command(const cli_command *command)
{
    printf("complete -c rer -n __rer_has_no_command -f -a %s -d '", command->name);
    print_quoted(command->purpose, FISH_SPECIAL, FISH_QUOTE);
    puts("'");
    if (command->choices != NULL)
        printf("complete -c rer -n '__rer_command_is %s' -f -a '%s'\n", command->name,
               values_of(command->choices).words);
}

static void fish_option(const cli_command *command, const rer_option_info *info, const offered *values)
{
    printf("complete -c rer -n '__rer_command_is %s' -l %s", command->name, info->name);
    if (!info->is_flag)
        fputs(values->files ? " -r -F" : " -x", stdout);
    if (values->folders)
        fputs(" -a '(__fish_complete_directories (commandline -ct))'", stdout);
    else if (values->words[0] != 0)
        printf(" -a '%s'", values->words);
    fputs(" -d '", stdout);
    print_quoted(info->help, FISH_SPECIAL, FISH_QUOTE);
    puts("'");
}

/* ---- the command ------------------------------------------------------------------------- */

static void no_command_end(const cli_command *command)
{
    (void)command;
}

static void no_end(void)
{
}

static const shell_script shells[] = {
    {"bash", bash_begin, bash_command, bash_option, bash_command_end, bash_end},
    {"zsh", zsh_begin, zsh_command, zsh_option, zsh_command_end, zsh_end},
    {"fish", fish_begin, fish_command, fish_option, no_command_end, no_end},
};

enum { N_SHELLS = sizeof shells / sizeof shells[0] };

static void print_command(const shell_script *shell, const cli_command *command)
{
    const rer_option_info *info;
    shell->command(command);
    for (int i = 0; (info = command_option(command, i)) != NULL; i++) {
        offered values = values_of(info->metavar);
        shell->option(command, info, &values);
    }
    shell->command_end(command);
}

static int run(const cli_arguments *arguments)
{
    rer_error error = {0};
    for (int i = 0; i < N_SHELLS; i++) {
        if (strcmp(arguments->files[0], shells[i].name) != 0)
            continue;
        shells[i].begin();
        for (int k = 0; command_at(k) != NULL; k++)
            print_command(&shells[i], command_at(k));
        shells[i].end();
        return 0;
    }
    (void)fail(&error, RER_BAD_USAGE, "there are no completions for '%s'; for bash, zsh and fish there are",
               arguments->files[0]);
    return report_failure(&error);
}

const cli_command completions_command = {
    .name = "completions",
    .usage = "bash|zsh|fish",
    .purpose = "Prints a script that lets the shell complete commands, options and their values.",
    .examples = {"source <(rer completions bash)", "rer completions fish > ~/.config/fish/completions/rer.fish"},
    .choices = "bash|zsh|fish",
    .files_min = 1,
    .files_max = 1,
    .accepted = "help",
    .run = run,
};
