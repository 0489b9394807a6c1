/* Writes the table of options as rer/_options.py: a TypedDict of the Python keywords, so that type
 * checkers and editors know what the command line knows.
 *     list_options FILE */
#include <rer.h>

#include <stdio.h>
#include <string.h>

/* What Python takes for one word of a metavar: "auto", "N", "0..1", "R,R,...". */
static const char *type_of_word(const char *word, size_t length, char *literal, size_t size)
{
    if (length == 1 && (*word == 'N' || *word == 'K'))
        return "int";
    if (length == 4 && strncmp(word, "K..K", 4) == 0)
        return "str";
    if (length > 1 && strncmp(word, "N,", 2) == 0)
        return "int | Sequence[int]";
    if (length > 1 && strncmp(word, "R,", 2) == 0)
        return "float | Sequence[float]";
    if (memchr(word, ',', length) != NULL) /* several of these words */
        return "str | Sequence[str]";
    if ((length == 1 && *word == 'X') || memchr(word, '.', length) != NULL)
        return "float";
    if (strspn(word, "abcdefghijklmnopqrstuvwxyz-_") >= length) {
        (void)snprintf(literal, size, "Literal[\"%.*s\"]", (int)length, word);
        return literal;
    }
    return "str";
}

static void put_type(FILE *file, const char *metavar)
{
    char literal[80];
    if (strcmp(metavar, "BYTES") == 0) {
        fputs("int | str", file);
        return;
    }
    for (const char *word = metavar; *word != 0;) {
        size_t length = strcspn(word, "|");
        fputs(type_of_word(word, length, literal, sizeof literal), file);
        word += length + (word[length] == '|');
        fputs(*word != 0 ? " | " : "", file);
    }
}

static void put_option(FILE *file, const rer_option_info *info)
{
    fputs("    ", file);
    for (const char *c = info->name; *c != 0; c++)
        fputc(*c == '-' ? '_' : *c, file);
    fputs(": ", file);
    if (info->is_flag)
        fputs("bool", file);
    else
        put_type(file, info->metavar);
    fprintf(file, "\n    \"\"\"%s (default: %s%s%s).\"\"\"\n", info->help, info->is_flag ? "False" : info->fallback,
            info->only_for != NULL ? "; for " : "", info->only_for != NULL ? info->only_for : "");
}

/* A class for analyze, and one that adds to it for each command that has options of its own. */
static void put_class(FILE *file, const char *command)
{
    bool first = strcmp(command, "analyze") == 0, any = first;
    for (int i = 0; !any && i < rer_options_count(); i++)
        any = rer_option_is_for(rer_options_info(i), command) && !rer_option_is_for(rer_options_info(i), "analyze");
    if (!any)
        return;
    if (first)
        fputs("\n\nclass Options(TypedDict, total=False):\n", file);
    else
        fprintf(file, "\n\nclass %c%sOptions(Options, total=False):\n", *command - 'a' + 'A', command + 1);
    fprintf(file, "    \"\"\"What changes `rer %s`; everything is optional.\"\"\"\n\n", command);
    for (int i = 0; i < rer_options_count(); i++) {
        const rer_option_info *info = rer_options_info(i);
        if (rer_option_is_for(info, command) && (first || !rer_option_is_for(info, "analyze")))
            put_option(file, info);
    }
}

int main(int argc, char **argv)
{
    FILE *file = argc == 2 ? fopen(argv[1], "w") : NULL;
    if (file == NULL) {
        fprintf(stderr, "usage: list_options FILE (that can be written)\n");
        return 2;
    }
    fputs("\"\"\"The keywords of rer.analyze and the others. Written by list_options.c from the table of\n"
          "options that the C library and the command line have; do not edit.\"\"\"\n\n"
          "from collections.abc import Sequence\nfrom typing import Literal, TypedDict\n",
          file);
    static const char *const commands[] = {"analyze", "noise", "bench", "scale", "compare", "apply", "embed"};
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        put_class(file, commands[i]);
    return fclose(file) == 0 ? 0 : 1;
}
