/* SPDX-License-Identifier: BSD-3-Clause */
/* Conversion in steps over chunks that stay in the cache. */
#include <cornerturn/kit/convert.h>

/* The steps of each instruction set: convert-isa.c. */
CtConvert ct_convert_steps_baseline(CtType from, CtType to);
#ifdef __x86_64__
CtConvert ct_convert_steps_avx2(CtType from, CtType to);
CtConvert ct_convert_steps_avx512(CtType from, CtType to);
#endif

CtConvert
ct_convert_steps(CtIsa isa, CtType from, CtType to)
{
    switch (isa) {
#ifdef __x86_64__
    case CT_ISA_AVX512:
    case CT_ISA_AVX512VNNI:
    case CT_ISA_AMX:
        return ct_convert_steps_avx512(from, to);
    case CT_ISA_AVX2:
    case CT_ISA_AVXVNNI:
        return ct_convert_steps_avx2(from, to);
#endif
    default:
        return ct_convert_steps_baseline(from, to);
    }
}

void
ct_convert(const CtConvert *convert, const void *from, void *to, gsize n, guint8 *scratch)
{
    void *const unpacked = convert->run || convert->pack ? scratch : to;
    void *const converted = convert->pack ? scratch + n * 16 : to;
    if (convert->unpack) {
        convert->unpack(from, unpacked, n * convert->n_unpack);
        from = unpacked;
    }
    if (convert->run) {
        convert->run(from, converted, n * convert->n_parts);
        from = converted;
    }
    if (convert->pack)
        convert->pack(from, to, n * convert->n_pack);
}
