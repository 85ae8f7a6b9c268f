/* SPDX-License-Identifier: BSD-3-Clause */
/* Marks the symbols that a shared object exports; the build hides all others. */
#pragma once

#define CT_EXPORT __attribute__((visibility("default")))
