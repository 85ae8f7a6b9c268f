/* SPDX-License-Identifier: BSD-3-Clause */
/* A shared object that is not a plugin. */
#include <cornerturn/export.h>

CT_EXPORT int foreign(void);

int
foreign(void)
{
    return 1;
}
