/* SPDX-License-Identifier: BSD-3-Clause */
/* Which symbols leave a shared object: all others are hidden by the build. */
#pragma once

#define CT_EXPORT __attribute__((visibility("default")))
