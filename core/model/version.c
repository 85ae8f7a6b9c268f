/* SPDX-License-Identifier: BSD-3-Clause */
/* The version of the library. */
#include <cornerturn/version.h>

const char *
ct_version(void)
{
    return CT_VERSION;
}
