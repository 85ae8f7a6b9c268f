/* SPDX-License-Identifier: BSD-3-Clause */
/* The domain of Cornerturn's errors. */
#include <cornerturn/stage.h>

G_DEFINE_QUARK(ct - error, ct_error)
