/* SPDX-License-Identifier: BSD-3-Clause */
/* Names and widths for files that are compiled once per instruction set. */
#pragma once

/* The build sets CT_ISA_SUFFIX to baseline, avx2 or avx512. Every symbol with external linkage in
 * such a file is named by CT_ISA, so that one shared object can hold all copies. */
#ifndef CT_ISA_SUFFIX
#define CT_ISA_SUFFIX baseline
#endif

#define CT_ISA_PASTE_(name, suffix) name##_##suffix
#define CT_ISA_PASTE(name, suffix)  CT_ISA_PASTE_(name, suffix)
#define CT_ISA(name)                CT_ISA_PASTE(name, CT_ISA_SUFFIX)

#define CT_ISA_STRING_(suffix) #suffix
#define CT_ISA_STRING(suffix)  CT_ISA_STRING_(suffix)
#define CT_ISA_NAME            CT_ISA_STRING(CT_ISA_SUFFIX)

/* Bytes of the widest vector that this copy may use. */
#if defined(__AVX512F__)
#define CT_VECTOR_BYTES 64
#elif defined(__AVX__)
#define CT_VECTOR_BYTES 32
#else
#define CT_VECTOR_BYTES 16
#endif

/* The copies of a variant, the best first, in a list of variants: &NAME_avx512, … */
#ifdef __x86_64__
#define CT_ISA_VARIANTS(name) &name##_avx512, &name##_avx2, &name##_baseline
#else
#define CT_ISA_VARIANTS(name) &name##_baseline
#endif
