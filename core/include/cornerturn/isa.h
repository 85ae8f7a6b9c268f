/* SPDX-License-Identifier: BSD-3-Clause */
/* Names and widths for files that are compiled once per instruction set. */
#pragma once

/* The build sets CT_ISA_SUFFIX to the name of the set: baseline, avx2, avx512, avxvnni, avx512vnni
 * or amx. Every symbol with external linkage in
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

/* The same of files under `isa_only`, for one set; nothing on machines that cannot have it. In
 * front of the other copies: CT_ISA_ONLY(NAME_amx) CT_ISA_VARIANTS(NAME). */
#ifdef __x86_64__
#define CT_ISA_ONLY(variant) &variant,
#else
#define CT_ISA_ONLY(variant)
#endif
