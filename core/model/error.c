/* SPDX-License-Identifier: BSD-3-Clause */
/* The domain of Cornerturn's errors. */
#include <cornerturn/stage.h>

GQuark
ct_error_quark(void)
{
    return g_quark_from_static_string("ct-error-quark");
}
