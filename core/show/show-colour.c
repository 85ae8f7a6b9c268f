/* SPDX-License-Identifier: BSD-3-Clause */
/* Colours of values. */
#include "show-scale.h"

#include <math.h>

static guint32
pack(const gdouble rgb[3])
{
    guint32 colour = 0;
    for (guint k = 0; k < 3; k++)
        colour = colour << 8 | (guint32)lround(255 * CLAMP(rgb[k], 0.0, 1.0));
    return colour;
}

/* Cubehelix, whose perceived brightness rises evenly: Green, D. A., 2011, Bull. Astr. Soc. India
 * 39, 289, with start 0.5, −1.5 rotations, hue 1, gamma 1. */
static guint32
cubehelix(gdouble share)
{
    static const gdouble weights[3][2] = {{-0.14861, 1.78277}, {-0.29227, -0.90649}, {1.97294, 0}};
    const gdouble angle = 2 * G_PI * (0.5 / 3 + 1 - 1.5 * share);
    const gdouble amplitude = share * (1 - share) / 2;
    gdouble rgb[3];
    for (guint k = 0; k < 3; k++)
        rgb[k] = share + amplitude * (weights[k][0] * cos(angle) + weights[k][1] * sin(angle));
    return pack(rgb);
}

/* A circle of hues of one lightness and one chroma in Oklab: Ottosson, B., 2020, "A perceptual
 * color space for image processing". */
static guint32
hue(gdouble share)
{
    const gdouble lightness = 0.72, chroma = 0.125;
    const gdouble a = chroma * cos(2 * G_PI * share), b = chroma * sin(2 * G_PI * share);
    const gdouble l = pow(lightness + 0.3963377774 * a + 0.2158037573 * b, 3);
    const gdouble m = pow(lightness - 0.1055613458 * a - 0.0638541728 * b, 3);
    const gdouble s = pow(lightness - 0.0894841775 * a - 1.2914855480 * b, 3);
    gdouble rgb[3] = {
        4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
        -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
        -0.0041960863 * l - 0.7034186147 * m + 1.7076147010 * s,
    };
    for (guint k = 0; k < 3; k++) /* from linear light to sRGB */
        rgb[k] = rgb[k] <= 0.0031308 ? 12.92 * rgb[k] : 1.055 * pow(rgb[k], 1 / 2.4) - 0.055;
    return pack(rgb);
}

guint32
ct_show_colour(CtShowQuantity quantity, gdouble share)
{
    /* Neither black nor white: they are those of papers and screens. */
    return quantity == CT_SHOW_PHASE ? hue(share) : cubehelix(0.06 + 0.88 * CLAMP(share, 0.0, 1.0));
}

guint32
ct_show_gap_colour(gboolean dark)
{
    return dark ? 0x59636e : 0xb4bcc4;
}

guint32
ct_show_cell_colour(const CtShowView *view, const CtShowCell *cell, CtShowQuantity quantity,
                    const CtShow *show, gdouble low, gdouble high)
{
    const gdouble value = ct_show_cell_value(view, cell, quantity, show->decibels);
    if (isnan(value))
        return ct_show_gap_colour(show->dark);
    return ct_show_colour(quantity, (value - low) / (high - low));
}
