/* @STAGE@: the mean power of a number of samples. */
#include <cornerturn/kit/kernel.h>

#ifdef CT_KERNEL
/* The sums over the samples of each element, all of double precision. */
typedef struct {
    double sum;
} Power;

/* Compiled for each combination of types in meson.build, each instruction set, and devices.
 * ct_multiply_add rounds alike in vectors and in the rest of a loop. */
CT_KERNEL void
power_add(const CtNoSettings *none, Power *power, const ct_x *x)
{
    power->sum += ct_multiply_add((double)x->re, (double)x->re, (double)x->im * (double)x->im);
}

/* The result of n valid samples; false would mark it as invalid. */
CT_KERNEL bool
power_give(const CtNoSettings *none, const Power *power, uint32_t n, ct_y *y)
{
    *y = (ct_y)(n > 0 ? power->sum / n : 0);
    return true;
}
CT_SUMS(power, CtNoSettings, Power, CT_FOLD_VALID)
#endif
