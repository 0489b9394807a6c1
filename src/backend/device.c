/* Finds the plug-in of a device. Once loaded it stays: a driver's threads outlive what they were asked for. */
#define _GNU_SOURCE /* dladdr */
#include "backend/device.h"

#include <rer.h>

#include <dlfcn.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PLUGIN "librer_cuda.so"

/* The folder of the library or command that this is part of; false: not known. */
static bool find_folder(char folder[PATH_MAX])
{
    Dl_info info;
    char path[PATH_MAX];
    if (dladdr((const void *)&find_folder, &info) == 0 || info.dli_fname == NULL)
        return false;
    /* A command is named as it was called, which may be without its folder. */
    if (realpath(strchr(info.dli_fname, '/') != NULL ? info.dli_fname : "/proc/self/exe", path) == NULL)
        return false;
    (void)snprintf(folder, PATH_MAX, "%s", dirname(path));
    return true;
}

static void *open_library(const char *path, char message[RER_DEVICE_MESSAGE])
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL)
        (void)snprintf(message, RER_DEVICE_MESSAGE, "%s", dlerror());
    return library;
}

static void *find_library(char message[RER_DEVICE_MESSAGE])
{
    static const char *const beside[] = {"", "../lib/", "../lib64/", "../" RER_LIBDIR "/"};
    const char *named = getenv("RER_CUDA_PLUGIN");
    char folder[PATH_MAX], path[PATH_MAX + 64], real[PATH_MAX];
    if (named != NULL && *named != 0)
        return open_library(named, message);
    bool known = find_folder(folder);
    for (size_t i = 0; known && i < sizeof beside / sizeof *beside; i++) {
        (void)snprintf(path, sizeof path, "%s/%s%s", folder, beside[i], PLUGIN);
        if (realpath(path, real) != NULL)
            return open_library(real, message);
    }
    return open_library(PLUGIN, message);
}

const rer_device_plugin *rer_device_find(char message[RER_DEVICE_MESSAGE])
{
    void *library = find_library(message);
    if (library == NULL)
        return NULL;
    rer_device_entry *entry = NULL;
    void *symbol = dlsym(library, RER_DEVICE_ENTRY);
    memcpy(&entry, &symbol, sizeof entry); /* C has no cast from one to the other */
    const rer_device_plugin *plugin = entry != NULL ? entry() : NULL;
    if (plugin == NULL)
        (void)snprintf(message, RER_DEVICE_MESSAGE, "the plug-in has no %s", RER_DEVICE_ENTRY);
    else if (plugin->interface != RER_DEVICE_INTERFACE)
        (void)snprintf(message, RER_DEVICE_MESSAGE, "the plug-in has interface %d, and %d is needed", plugin->interface,
                       RER_DEVICE_INTERFACE);
    else if (strcmp(plugin->version, RER_VERSION) != 0)
        (void)snprintf(message, RER_DEVICE_MESSAGE, "the plug-in is of version %.40s, and this is %s", plugin->version,
                       RER_VERSION);
    else
        return plugin;
    (void)dlclose(library);
    return NULL;
}

static void *wake(void *argument)
{
    const rer_device_waking *waking = argument;
    char unsaid[RER_DEVICE_MESSAGE];
    const rer_device_plugin *plugin = rer_device_find(unsaid);
    if (plugin != NULL)
        plugin->wake(waking->card);
    return NULL;
}

void rer_device_wake(rer_device_waking *waking, int32_t card)
{
    *waking = (rer_device_waking){.card = card};
    waking->is_started = rer_thread_start(&waking->thread, wake, waking);
}

void rer_device_wake_end(rer_device_waking *waking)
{
    if (waking->is_started)
        (void)pthread_join(waking->thread, NULL);
    waking->is_started = false;
}
