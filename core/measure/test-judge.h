/* SPDX-License-Identifier: BSD-3-Clause */
/* A case of a stage's test, run by a variant and by the reference. */
#pragma once

#include "test-case.h"

/* Fills the inputs of the case, runs the variant of `choice` on them, in the case's layouts and
 * cuts, and the reference in layouts of its own, and compares the results. `device` is that of cuda
 * variants. Returns the problem, allocated; NULL: there is none. */
char *ct_test_judge(const CtTestCase *one, const CtTestChoice *choice, const CtVariant *reference,
                    CtDevice *device, GRand *random);
