/* SPDX-License-Identifier: BSD-3-Clause */
/* Butterflies of transforms with factors 2, 3 and 5, by threads that hold a few of its values each.
 * The kernels of fft, and of fir and fft in one, share them.
 *
 * Passes are those of Stockham. Behind passes whose radices have the product s, a pass of radix q
 * moves the values j + i·P/q of a spectrum to j % s + i·s + j / s·s·q.
 *
 * Constants of the compilation: LENGTH, P; RADICES, of the passes, whose product is P;
 * FUSES_FACTORS, whether those of radices of two are part of additions, which takes more registers;
 * TURNS_FACTORS, whether some of these are made of others each time, which takes fewer registers
 * and more operations; 0 if they are not defined. */
#pragma once

#include "cornerturn/kernel.h"

#ifndef FUSES_FACTORS
#define FUSES_FACTORS 0
#endif
#ifndef TURNS_FACTORS
#define TURNS_FACTORS 0
#endif

static constexpr int radices[] = {RADICES};
#define N_PASSES ((int)(sizeof radices / sizeof *radices))

/* Product of the radices before `pass`. */
__device__ constexpr int
span_of(int pass)
{
    return pass == 0 ? 1 : span_of(pass - 1) * radices[pass - 1];
}

static_assert(span_of(N_PASSES) == LENGTH, "passes transform a spectrum");

/* Whether n / step · step is the sum of those of the parts of n, for the places n at which values
 * are written by `pass` and read by the next one. */
__device__ constexpr bool
splits(int step, int pass)
{
    const int span = span_of(pass), next = span_of(pass + 1);
    const int apart = LENGTH / radices[pass + 1];
    return (step % span == 0 || span % step == 0) && (step % next == 0 || next % step == 0) &&
           (step % apart == 0 || apart % step == 0);
}

/* Between `pass` and the next one, a place is left free behind every so many values, so that
 * neighbours that write far apart write to different banks. */
__device__ constexpr int
free_step(int pass, int step = 16)
{
    return step > LENGTH || splits(step, pass) ? step : free_step(pass, step + 16);
}

/* The place of a value of a spectrum between `pass` and the next one. Sums of places of the parts
 * of a sum are places of sums. */
template <int pass>
__device__ constexpr int
padded(int at)
{
    return at + at / free_step(pass);
}

/* Waits for the n threads that share transforms. They are a part of a warp, or it waits for all of
 * the block. */
template <int n>
__device__ inline void
wait()
{
    if constexpr (32 % n == 0)
        __syncwarp();
    else
        __syncthreads();
}

__device__ inline ct_cf32
add(ct_cf32 a, ct_cf32 b)
{
    return {a.re + b.re, a.im + b.im};
}

__device__ inline ct_cf32
subtract(ct_cf32 a, ct_cf32 b)
{
    return {a.re - b.re, a.im - b.im};
}

__device__ inline ct_cf32
multiply(ct_cf32 a, ct_cf32 b)
{
    return {fmaf(a.re, b.re, -(a.im * b.im)), fmaf(a.re, b.im, a.im * b.re)};
}

/* a · exp(−2πi m / 16), m known to the compiler. */
__device__ inline ct_cf32
rotate16(ct_cf32 a, int m)
{
    const float cosine = 0.92387953251128675613f, sine = 0.38268343236508977173f;
    const float half = 0.70710678118654752440f;

    if (m % 4 == 1)
        a = multiply(a, {cosine, -sine});
    else if (m % 4 == 2)
        a = {half * (a.re + a.im), half * (a.im - a.re)};
    else if (m % 4 == 3)
        a = multiply(a, {sine, -cosine});
    if (m & 8)
        a = {-a.re, -a.im};
    if (m & 4)
        a = {a.im, -a.re};
    return a;
}

/* cos(2π m / n) and sin(2π m / n) for 0 ≤ m < n, by their series around a half turn. */
__device__ constexpr double
turn(int m, int n, bool is_sine)
{
    const double x = 3.14159265358979323846 * (2 * m - n) / n;
    double term = is_sine ? x : 1, sum = 0;
    for (int k = is_sine ? 2 : 1; k < 40; k += 2) {
        sum -= term;
        term *= -x * x / (k * (k + 1));
    }
    return sum;
}

template <int n> struct Turns {
    float re[n] = {}, im[n] = {};

    __device__ constexpr Turns()
    {
        for (int m = 0; m < n; m++) {
            re[m] = (float)turn(m, n, false);
            im[m] = (float)-turn(m, n, true);
        }
    }
};

/* a · exp(−2πi m / n), m known to the compiler. */
template <int n>
__device__ inline ct_cf32
rotate(ct_cf32 a, int m)
{
    if constexpr (16 % n == 0) {
        return rotate16(a, m * (16 / n));
    } else {
        constexpr Turns<n> turns;
        if (m * 4 % n == 0)
            return rotate16(a, m * 4 / n * 4);
        return multiply(a, {turns.re[m], turns.im[m]});
    }
}

/* Transforms of 2 to 5 values `apart`. */
__device__ inline void
transform2(ct_cf32 *v, int apart)
{
    const ct_cf32 a = v[0], b = v[apart];

    v[0] = add(a, b);
    v[apart] = subtract(a, b);
}

__device__ inline void
transform3(ct_cf32 *v, int apart)
{
    const float sine = 0.86602540378443864676f;
    const ct_cf32 a = v[0], sum = add(v[apart], v[2 * apart]);
    const ct_cf32 difference = subtract(v[apart], v[2 * apart]);
    const ct_cf32 middle = {fmaf(-0.5f, sum.re, a.re), fmaf(-0.5f, sum.im, a.im)};

    v[0] = add(a, sum);
    v[apart] = {fmaf(sine, difference.im, middle.re), fmaf(-sine, difference.re, middle.im)};
    v[2 * apart] = {fmaf(-sine, difference.im, middle.re), fmaf(sine, difference.re, middle.im)};
}

__device__ inline void
transform4(ct_cf32 *v, int apart)
{
    const ct_cf32 a = add(v[0], v[2 * apart]), b = subtract(v[0], v[2 * apart]);
    const ct_cf32 c = add(v[apart], v[3 * apart]),
                  d = rotate<4>(subtract(v[apart], v[3 * apart]), 1);

    v[0] = add(a, c);
    v[apart] = add(b, d);
    v[2 * apart] = subtract(a, c);
    v[3 * apart] = subtract(b, d);
}

/* a + x·b + y·c */
__device__ inline ct_cf32
combine(ct_cf32 a, float x, ct_cf32 b, float y, ct_cf32 c)
{
    return {fmaf(y, c.re, fmaf(x, b.re, a.re)), fmaf(y, c.im, fmaf(x, b.im, a.im))};
}

__device__ inline void
transform5(ct_cf32 *v, int apart)
{
    const float cosine1 = 0.30901699437494742410f, sine1 = 0.95105651629515357212f;
    const float cosine2 = -0.80901699437494742410f, sine2 = 0.58778525229247312917f;
    const ct_cf32 a = v[0], none = {0, 0};
    const ct_cf32 b = add(v[apart], v[4 * apart]), c = add(v[2 * apart], v[3 * apart]);
    const ct_cf32 d = subtract(v[apart], v[4 * apart]), e = subtract(v[2 * apart], v[3 * apart]);
    const ct_cf32 f = combine(a, cosine1, b, cosine2, c), g = combine(a, cosine2, b, cosine1, c);
    const ct_cf32 h = rotate<4>(combine(none, sine1, d, sine2, e), 1);
    const ct_cf32 i = rotate<4>(combine(none, sine2, d, -sine1, e), 1);

    v[0] = add(add(a, b), c);
    v[apart] = add(f, h);
    v[2 * apart] = add(g, i);
    v[3 * apart] = subtract(g, i);
    v[4 * apart] = subtract(f, h);
}

template <int n>
__device__ inline void
transform(ct_cf32 *v, int apart)
{
    static_assert(n <= 5, "one of those above");
    if constexpr (n == 2)
        transform2(v, apart);
    else if constexpr (n == 3)
        transform3(v, apart);
    else if constexpr (n == 4)
        transform4(v, apart);
    else if constexpr (n == 5)
        transform5(v, apart);
}

/* Waits here until a factor has arrived. */
__device__ inline void
await_factor(ct_cf32 &factor)
{
    ct_await(factor.re);
    ct_await(factor.im);
}

/* A pass: butterflies of `inner` by `outer` values. */
template <int pass> struct Pass {
    static constexpr int radix = radices[pass], span = span_of(pass);
    static constexpr int inner = radix % 4 == 0 ? 4 : radix % 5 == 0 ? 5 : radix % 3 == 0 ? 3 : 2;
    static constexpr int outer = radix / inner;
    static constexpr bool is_power = (radix & (radix - 1)) == 0;

    /* Value i of the transform stands at place(i) afterwards. */
    static __device__ constexpr int
    place(int i)
    {
        return i % outer * inner + i / outer;
    }
};

/* Factors of the input of a butterfly: value inner·a + b is multiplied by w^(inner·a) · w^b. */
template <int pass, bool fuses = FUSES_FACTORS &&Pass<pass>::is_power> struct Factors : Pass<pass> {
    using Pass<pass>::radix, Pass<pass>::span, Pass<pass>::inner, Pass<pass>::outer;
    ct_cf32 low[inner], high[outer];

    /* table: exp(−2πi m / P) */
    __device__ void
    init(const ct_cf32 *table, int index)
    {
        const int step = index % span * (LENGTH / (span * radix));
#pragma unroll
        for (int b = 1; b < inner; b++)
            low[b] = table[b * step];
#pragma unroll
        for (int a = 1; a < outer; a++)
            high[a] = table[a * inner * step];
    }

    __device__ void
    await()
    {
#pragma unroll
        for (int b = 1; b < inner; b++)
            await_factor(low[b]);
#pragma unroll
        for (int a = 1; a < outer; a++)
            await_factor(high[a]);
    }

    __device__ void
    transform(ct_cf32 *v) const
    {
#pragma unroll
        for (int b = 0; b < inner; b++) {
            if (pass > 0) {
#pragma unroll
                for (int a = 1; a < outer; a++)
                    v[a * inner + b] = multiply(v[a * inner + b], high[a]);
            }
            ::transform<outer>(v + b, inner);
#pragma unroll
            for (int a = 0; a < outer && b > 0; a++) {
                if (pass > 0)
                    v[a * inner + b] = multiply(v[a * inner + b], low[b]);
                v[a * inner + b] = rotate<radix>(v[a * inner + b], a * b);
            }
        }
#pragma unroll
        for (int a = 0; a < outer; a++)
            ::transform<inner>(v + a * inner, 1);
    }
};

/* a + w·b and a − w·b with six fused operations, the second as 2a less the first. */
__device__ inline void
join(ct_cf32 &a, ct_cf32 &b, ct_cf32 w)
{
    const ct_cf32 sum = {fmaf(-w.im, b.im, fmaf(w.re, b.re, a.re)),
                         fmaf(w.im, b.re, fmaf(w.re, b.im, a.im))};
    b = {fmaf(2, a.re, -sum.re), fmaf(2, a.im, -sum.im)};
    a = sum;
}

/* The same with exp(−2πi m / 16) for w, m known to the compiler. */
__device__ inline void
join16(ct_cf32 &a, ct_cf32 &b, int m)
{
    if (m % 4 == 0) {
        const ct_cf32 rotated = rotate16(b, m), sum = add(a, rotated);
        b = subtract(a, rotated);
        a = sum;
    } else {
        join(a, b, rotate16({1, 0}, m));
    }
}

__device__ inline void
swap_values(ct_cf32 &a, ct_cf32 &b)
{
    const ct_cf32 c = a;
    a = b;
    b = c;
}

/* Transforms of 4 values `apart`, of which value i is multiplied by w^i; square: w². */
__device__ inline void
join4(ct_cf32 *v, int apart, ct_cf32 w, ct_cf32 square)
{
    join(v[0], v[2 * apart], square);
    join(v[apart], v[3 * apart], square);
    join(v[0], v[apart], w);
    join(v[2 * apart], v[3 * apart], {w.im, -w.re});
    swap_values(v[apart], v[2 * apart]);
}

/* The same with exp(−2πi m / 16) for w. */
__device__ inline void
join4_16(ct_cf32 *v, int apart, int m)
{
    join16(v[0], v[2 * apart], 2 * m);
    join16(v[apart], v[3 * apart], 2 * m);
    join16(v[0], v[apart], m);
    join16(v[2 * apart], v[3 * apart], m + 4);
    swap_values(v[apart], v[2 * apart]);
}

/* Radices of two. A factor is part of the additions behind it, so it is that of a sum: the inner
 * butterfly a of value b has exp(−2πi ab / radix) · w^b. Where `outer` is 4, squares of the last
 * two are those of the first two, turned. */
template <int pass> struct Factors<pass, true> : Pass<pass> {
    using Pass<pass>::radix, Pass<pass>::span, Pass<pass>::inner, Pass<pass>::outer;
    static constexpr int n_squares = outer == 4 ? 2 : 1;
    static constexpr bool turns = TURNS_FACTORS && radix == 16;
    static constexpr int n_low = turns ? 1 : outer, n_own_squares = turns ? 1 : n_squares;
    ct_cf32 high[2], low[n_low], squares[n_own_squares];

    /* table: exp(−2πi m / P) */
    __device__ void
    init(const ct_cf32 *table, int index)
    {
        const int step = index % span * (LENGTH / (span * radix));
#pragma unroll
        for (int a = 0; a < n_low; a++)
            low[a] = table[step + a * (LENGTH / radix)];
#pragma unroll
        for (int a = 0; a < n_own_squares && inner == 4; a++)
            squares[a] = table[2 * (step + a * (LENGTH / radix))];
#pragma unroll
        for (int i = 0; i < outer / 2; i++)
            high[i] = table[(i + 1) * inner * step];
    }

    __device__ void
    await()
    {
#pragma unroll
        for (int a = 0; a < n_low; a++)
            await_factor(low[a]);
#pragma unroll
        for (int a = 0; a < n_own_squares && inner == 4; a++)
            await_factor(squares[a]);
#pragma unroll
        for (int i = 0; i < outer / 2; i++)
            await_factor(high[i]);
    }

    /* A factor that is turned by m / 16 if it is not kept. Nothing else is kept in its place. */
    static __device__ ct_cf32
    turned(const ct_cf32 *kept, int a, int m)
    {
        if constexpr (turns) {
            ct_cf32 first = kept[0];
            ct_keep(first.re);
            ct_keep(first.im);
            return rotate16(first, m);
        } else {
            return kept[a];
        }
    }

    __device__ void
    transform(ct_cf32 *v) const
    {
#pragma unroll
        for (int b = 0; b < inner; b++) {
            if (pass == 0)
                ::transform<outer>(v + b, inner);
            else if (outer == 4)
                join4(v + b, inner, high[0], high[1]);
            else if (outer == 2)
                join(v[b], v[inner + b], high[0]);
        }
#pragma unroll
        for (int a = 0; a < outer; a++) {
            ct_cf32 *own = v + a * inner;
            const ct_cf32 square = turned(squares, a % n_squares, 2 * (a % n_squares));
            if (inner == 2 && pass == 0)
                join16(own[0], own[1], 0);
            else if (inner == 2)
                join(own[0], own[1], low[0]);
            else if (pass == 0)
                join4_16(own, 1, a * (16 / radix));
            else
                join4(own, 1, turned(low, a, a),
                      a < n_squares ? square : ct_cf32{square.im, -square.re});
        }
    }
};
