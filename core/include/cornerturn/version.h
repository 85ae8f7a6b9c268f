/* SPDX-License-Identifier: BSD-3-Clause */
/* The version of the library that a program has loaded. */
#pragma once

#include <cornerturn/export.h>

/* "0.1.0": MAJOR.MINOR.PATCH of the library's release; owned by the library. */
CT_EXPORT const char *ct_version(void);
