/* SPDX-License-Identifier: BSD-3-Clause */
/* Interrupts of waits for inputs. */
#include "cornerturn/pipeline.h"

#include <stdatomic.h>

static atomic_bool interrupted;

void
ct_interrupt_waits(void)
{
    atomic_store(&interrupted, TRUE);
}

gboolean
ct_waits_are_interrupted(void)
{
    return atomic_load(&interrupted);
}
