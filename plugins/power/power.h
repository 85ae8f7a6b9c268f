/* SPDX-License-Identifier: BSD-3-Clause */
/* Declarations shared by the variants of the stage power: the products, and the positions of their
 * axes. */
#pragma once

#include <cornerturn/kit/boxes.h>

typedef enum {
    POWER_NONE, /* squared modulus of every sample */
    POWER_I,
    POWER_IQUV
} PowerStokes;

typedef enum { POWER_LINEAR, POWER_CIRCULAR } PowerFeed;

typedef struct {
    CtBoxes boxes;
    PowerStokes stokes;
    PowerFeed feed;
    gint in_pol, out_stokes; /* axes of the layouts, −1 without stokes */
    gint64 pol,
        stride; /* bytes from pol 0 to pol 1, and from a parameter to the next, in a firing */
} Power;

Power *ct_power_new(CtPrepare *prepare, guint n_workers);

extern const CtVariant ct_power_reference, ct_power_cuda;
extern const CtVariant ct_power_cpu_baseline, ct_power_cpu_avx2, ct_power_cpu_avx512;
