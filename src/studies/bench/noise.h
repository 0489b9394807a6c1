/* Wrong labels on purpose, as classes: see rer_noise_plant in rer.h. */
#pragma once

#include "labels/label_file.h"
#include "core/options.h"
