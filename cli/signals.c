/* Interrupts. While files are being made a signal is only noted, and the progress callback stops the work. Where that
 * takes too long, as when a large picture is being decoded, or a signal comes a second time, the process ends in the
 * handler. Temporary files are removed either way. */
#include "cli.h"

#include <signal.h>
#include <unistd.h>

/* How long the work may take to stop; then it is stuck, as a thread that writes to a pipe which
 * nobody reads. */
enum { GRACE_SECONDS = 10 };

static volatile sig_atomic_t deferred, received;

static void end_now(int number)
{
    rer_unfinished_remove(); /* NOLINT(bugprone-signal-handler): made for this */
    _exit(128 + number);
}

/* The second signal does not wait for what the first began. */
static void on_signal(int number)
{
    if (!deferred || received != 0)
        end_now(number);
    received = number;
    (void)alarm(GRACE_SECONDS);
}

static void on_alarm(int number)
{
    (void)number;
    end_now(received);
}

static void catch_signal(int number)
{
    struct sigaction old, action = {.sa_handler = on_signal}; /* without SA_RESTART it ends a write that waits */
    if (sigaction(number, NULL, &old) == 0 && old.sa_handler == SIG_IGN)
        return; /* as under nohup */
    (void)sigaction(number, &action, NULL);
}

void signals_start(void)
{
    catch_signal(SIGINT);
    catch_signal(SIGTERM);
    (void)signal(SIGALRM, on_alarm);
    /* A reader that left and a file that grew too large are failed writes, not deaths. */
    (void)signal(SIGPIPE, SIG_IGN);
    (void)signal(SIGXFSZ, SIG_IGN);
}

void signals_defer(bool defer)
{
    deferred = defer;
}

int signals_received(void)
{
    return received;
}
