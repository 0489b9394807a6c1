/* A thread of our own. */
#pragma once

#include <pthread.h>
#include <stdbool.h>

/* Started with all signals blocked: handlers run in the caller's threads alone. false: it cannot be. */
bool rer_thread_start(pthread_t *thread, void *(*run)(void *argument), void *argument);
