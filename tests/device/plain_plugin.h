/* The entry of a plug-in, here that of plain loops. */
#pragma once

#include "backend/device.h"

#ifndef PLAIN_VERSION
#define PLAIN_VERSION RER_VERSION
#endif

/* How often its driver would have been started. */
typedef int plain_count(void);
__attribute__((visibility("default"))) plain_count plain_times_woken;

__attribute__((visibility("default"))) const rer_device_plugin *rer_device_load(void);
