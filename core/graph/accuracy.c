/* SPDX-License-Identifier: BSD-3-Clause */
/* Errors of values that are rounded to levels. */
#include <cornerturn/stage.h>
#include <math.h>

/* The deviations from the mean that a number of rare events has by chance, at most. */
#define MOST_DEVIATIONS 5

gdouble
ct_accuracy_rounded(const CtAccuracy *output, gdouble error)
{
    const gdouble n = (gdouble)output->n, mean = error * n;

    if (error == 0 || output->n == 0)
        return sqrt(error) + error;
    return sqrt((mean + MOST_DEVIATIONS * (sqrt(mean) + 1)) / n) + error;
}
