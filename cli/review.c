/* rer review: the report of a run, alive. */
#include "cli.h"

#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

/* Nobody comes where the address could not be said. */
static bool is_stopped(void *context, const char *stage, double fraction)
{
    (void)context, (void)stage, (void)fraction;
    return signals_received() != 0 || !flush_output();
}

/* Twice forked: nobody has to wait for the browser. */
static void open_browser(const char *address)
{
    const char *opener = getenv("BROWSER");
    pid_t child = fork();
    if (child != 0)
        return;
    if (fork() == 0) {
        bool is_quiet = freopen("/dev/null", "w", stdout) != NULL && freopen("/dev/null", "w", stderr) != NULL;
        (void)is_quiet; /* else the browser talks */
        (void)execlp(opener != NULL && opener[0] != 0 ? opener : "xdg-open", "xdg-open", address, (char *)NULL);
    }
    _exit(0);
}

static void on_ready(void *context, const char *address)
{
    const cli_arguments *arguments = *(const cli_arguments **)context;
    say("%s\n", address);
    if (!arguments->quiet)
        say("Decisions are saved in %s/decisions.jsonl as they are made; Ctrl-C ends.\n", arguments->files[0]);
    if (flush_output() && arguments->open)
        open_browser(address);
}

static rer_status read_port(int32_t *port, const char *text, rer_error *error)
{
    char *end = NULL;
    long value = text != NULL ? strtol(text, &end, 10) : 0;
    if (text != NULL && (*end != 0 || value < 0 || value > 65535))
        return fail(error, RER_BAD_USAGE, "--port %s: a port is from 1 to 65535, or 0 for any that is free", text);
    *port = (int32_t)value;
    return RER_OK;
}

static const char *own_name(void)
{
    const struct passwd *user = getpwuid(getuid());
    return user != NULL && user->pw_name[0] != 0 ? user->pw_name : NULL;
}

static rer_status serve(const cli_arguments *arguments, rer_error *error)
{
    rer_review_settings settings = {.size = sizeof settings,
                                    .reviewer = arguments->reviewer != NULL ? arguments->reviewer : own_name(),
                                    .ready = on_ready,
                                    .context = &arguments};
    rer_progress progress = {.report = is_stopped};
    rer_status status = read_port(&settings.port, arguments->port, error);
    if (status != RER_OK)
        return status;
    signals_defer(true);
    return rer_review_serve(arguments->files[0], &settings, &progress, error);
}

static int run(const cli_arguments *arguments)
{
    rer_error error = {0};
    bool exports = arguments->export != NULL;
    rer_status status =
        exports ? rer_review_export(arguments->files[0], arguments->export, &error) : serve(arguments, &error);
    if (status != RER_OK)
        return report_failure(&error);
    if (exports && !arguments->quiet)
        say("The decisions so far are in %s\n", arguments->export);
    return signals_received() != 0 ? 128 + signals_received() : 0;
}

const cli_command review_command = {
    .name = "review",
    .usage = "DIR [--open] [--reviewer NAME] [--port N] [--export FILE]",
    .purpose = "Serves the report of rer analyze --out DIR to your browser: decisions are kept, look again.",
    .examples = {"rer review results --open", "rer review results --export decisions.csv"},
    .files_min = 1,
    .files_max = 1,
    .accepted = "port open reviewer export quiet help color",
    .run = run,
};
