/* SPDX-License-Identifier: BSD-3-Clause */
/* Delays of stations for a plane wave from a source: IERS Conventions (2010), chapter 11, equations
 * 11.5 to 11.9, in vacuum, with the direction of the source as the Sun deflects it in place of the
 * difference of gravitational delays. */
#include "fringe-geometry.h"

#include <erfa.h>
#include <erfam.h>
#include <math.h>

/* Radians per second of UT1, nearly. */
static const gdouble rotation = 7.292115e-5;

void
fringe_moment(const EarthTime *time, FringeMoment *moment)
{
    gdouble to_itrs[3][3], heliocentric[2][3], barycentric[2][3];
    eraC2t06a(time->tt[0], time->tt[1], time->ut1[0], time->ut1[1], time->orientation.x,
              time->orientation.y, to_itrs);
    eraTr(to_itrs, moment->to_gcrs);
    /* The scale wants TDB, which differs from TT by less than 2 ms. */
    eraEpv00(time->tt[0], time->tt[1], heliocentric, barycentric);
    eraSxp(ERFA_AULT / ERFA_DAYSEC, barycentric[1], moment->velocity);
    eraPn(heliocentric[0], &moment->distance, moment->from_sun);
}

gdouble
fringe_delay(const FringeMoment *moment, const gdouble position[3], const gdouble reference[3],
             const gdouble direction[2])
{
    const gdouble *V = moment->velocity;
    gdouble K[3], b[3], w[3];
    const gdouble on_ground[3] = {position[0] - reference[0], position[1] - reference[1],
                                  position[2] - reference[2]};
    const gdouble turning[3] = {-rotation * position[1], rotation * position[0], 0};
    eraRxp((gdouble(*)[3])moment->to_gcrs, (gdouble *)on_ground, b);
    eraRxp((gdouble(*)[3])moment->to_gcrs, (gdouble *)turning, w);
    eraSxp(1 / ERFA_CMPS, b, b);
    eraSxp(1 / ERFA_CMPS, w, w);
    eraS2c(direction[0], direction[1], K);
    eraLdsun(K, (gdouble *)moment->from_sun, moment->distance, K);

    const gdouble approaching = eraPdp(K, (gdouble *)V), moving = eraPdp((gdouble *)V, w);
    const gdouble speed = eraPdp((gdouble *)V, (gdouble *)V);
    const gdouble potential = ERFA_SRS / moment->distance; /* (1 + γ) U/c² */
    const gdouble later = -eraPdp(K, b) * (1 - potential - speed / 2 - moving) -
                          eraPdp((gdouble *)V, b) * (1 + approaching / 2);
    return -later / (1 + approaching + eraPdp(K, w));
}
