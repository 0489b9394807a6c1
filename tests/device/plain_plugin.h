/* The entry of a plug-in, here that of plain loops. */
#pragma once

#include "backend/device.h"

#ifndef PLAIN_VERSION
#define PLAIN_VERSION RER_VERSION
#endif

__attribute__((visibility("default"))) const rer_device_plugin *rer_device_load(void);
