/* SPDX-License-Identifier: BSD-3-Clause */
/* Computes the transform's numbers from its parameters, and where transforms lie in blocks. */
#include "fft.h"

gboolean
ct_fft_design_init(FftDesign *design, const CtParams *given, const CtStream *in, GError **error)
{
    FftDesign made = {
        .inverse = ct_params_choice(given, "direction") == 1,
        .shift = ct_params_bool(given, "shift"),
        .real = !ct_type_info(in->type)->is_complex,
        .wide = in->type == CT_CF64 || in->type == CT_F64,
    };
    const char *axis = ct_params_string(given, "axis"), *to = ct_params_string(given, "to");

    made.axis = ct_axis_name(axis != NULL ? axis : made.inverse ? "channel" : "phase");
    made.to = ct_axis_name(to != NULL ? to : made.inverse ? "phase" : "channel");
    made.along_time = made.axis == ct_axis_name("time");

    gint found = ct_stream_axis(in, made.axis);
    if (found < 0) {
        g_autofree char *described = ct_stream_describe(in);
        if (axis != NULL)
            return ct_params_error(given, "axis", error,
                                   "wants an axis of the input, but %s is none of: %s", made.axis,
                                   described);
        g_set_error(error, CT_ERROR, CT_ERROR_SHAPE,
                    "wants the axis %s (%s'axis' names another one), but is given %s", made.axis,
                    strcmp(made.axis, "phase") == 0 ? "as fir makes it, or " : "", described);
        return FALSE;
    }
    if (made.to != made.axis && ct_stream_axis(in, made.to) >= 0) {
        g_set_error(
            error, CT_ERROR, CT_ERROR_SHAPE,
            "wants to make the axis %s, but the input has one already: 'to' gives it another name",
            made.to);
        return FALSE;
    }
    if (made.along_time && made.to == made.axis)
        return ct_params_error(given, "to", error, "wants an axis other than time");
    if (made.along_time != ct_params_has(given, "length"))
        return ct_params_error(given, "length", error,
                               made.along_time
                                   ? "wants the samples of a transform along time, but is not given"
                                   : "wants the axis time, but the transform is along %s",
                               made.axis);
    if (made.real && made.inverse)
        return ct_params_error(given, "direction", error,
                               "inverse wants complex input, but is given %s",
                               ct_type_info(in->type)->name);
    if (made.real && made.shift)
        return ct_params_error(given, "shift", error,
                               "wants complex input, but is given %s, whose spectra have no "
                               "negative frequencies",
                               ct_type_info(in->type)->name);
    made.length = made.along_time ? ct_params_int(given, "length") : in->axes[found].length;
    if (made.length > FFT_MAX_LENGTH) {
        g_set_error(error, CT_ERROR, CT_ERROR_SHAPE,
                    "wants at most %d samples along %s, but is given %" G_GINT64_FORMAT,
                    FFT_MAX_LENGTH, made.axis, made.length);
        return FALSE;
    }
    made.out_length = made.real ? made.length / 2 + 1 : made.length;
    *design = made;
    return TRUE;
}

gint64
ct_fft_design_unshift(const FftDesign *design, gint64 i)
{
    return design->shift ? (i + (design->length + 1) / 2) % design->length : i;
}

void
ct_fft_axes_init(FftAxes *axes, const FftDesign *design, const CtLayout *in, const CtLayout *out)
{
    *axes = (FftAxes){
        .transformed_in = (guint)ct_layout_axis(in, design->axis),
        .transformed_out = (guint)ct_layout_axis(out, design->to),
        .time_step = design->along_time ? design->length : 1,
    };
    for (guint i = 0; i < out->n_axes; i++) {
        if (i == axes->transformed_out)
            continue;
        axes->in_axis[axes->n_axes] = (guint)ct_layout_axis(in, out->axes[i].name);
        axes->out_axis[axes->n_axes++] = i;
    }
}

void
ct_fft_axes_apply(const FftAxes *axes, const CtBlock *in, const CtBlock *out, FftBatch *batch)
{
    *batch = (FftBatch){
        .n_axes = axes->n_axes,
        .n_transforms = 1,
        .step_in = in->stride[axes->transformed_in],
        .step_out = out->stride[axes->transformed_out],
    };
    for (guint i = 0; i < axes->n_axes; i++) {
        batch->length[i] = out->length[axes->out_axis[i]];
        batch->out[i] = out->stride[axes->out_axis[i]];
        batch->in[i] = in->stride[axes->in_axis[i]];
        if (axes->in_axis[i] == axes->transformed_in)
            batch->in[i] *= axes->time_step;
        batch->n_transforms *= batch->length[i];
    }
}

void
ct_fft_batch_offset(const FftBatch *batch, gint64 i, gint64 *in, gint64 *out)
{
    *in = *out = 0;
    for (guint axis = batch->n_axes; axis-- > 0; i /= batch->length[axis]) {
        *in += i % batch->length[axis] * batch->in[axis];
        *out += i % batch->length[axis] * batch->out[axis];
    }
}
