/* SPDX-License-Identifier: BSD-3-Clause */
/* The facts of an observation that streams carry, and places on the Earth. */
#include <cornerturn/error.h>
#include <cornerturn/observation.h>
#include <cornerturn/text.h>
#include <math.h>
#include <string.h>

struct CtObservation {
    gatomicrefcount references;
    CtObservationFacts facts; /* its texts and stations are this object's */
};

CtObservation *
ct_observation_new(const CtObservationFacts *facts)
{
    CtObservation *self = g_new0(CtObservation, 1);
    g_atomic_ref_count_init(&self->references);
    self->facts = *facts;
    self->facts.telescope = g_strdup(facts->telescope);
    self->facts.source = g_strdup(facts->source);
    self->facts.project = g_strdup(facts->project);
    self->facts.observer = g_strdup(facts->observer);
    CtStation *stations = g_memdup2(facts->stations, facts->n_stations * sizeof *stations);
    for (guint i = 0; i < facts->n_stations; i++)
        stations[i].name = g_strdup(stations[i].name);
    self->facts.stations = stations;
    CtScan *scans = g_memdup2(facts->scans, facts->n_scans * sizeof *scans);
    for (guint i = 0; i < facts->n_scans; i++)
        scans[i].source = g_strdup(scans[i].source);
    self->facts.scans = scans;
    char **names = g_new0(char *, facts->n_polarisations + 1);
    for (guint i = 0; i < facts->n_polarisations; i++)
        names[i] = g_strdup(facts->polarisations[i]);
    self->facts.polarisations = (const char *const *)names;
    return self;
}

CtObservation *
ct_observation_ref(CtObservation *observation)
{
    g_atomic_ref_count_inc(&observation->references);
    return observation;
}

void
ct_observation_unref(CtObservation *observation)
{
    if (!g_atomic_ref_count_dec(&observation->references))
        return;
    CtObservationFacts *facts = &observation->facts;
    g_free((char *)facts->telescope);
    g_free((char *)facts->source);
    g_free((char *)facts->project);
    g_free((char *)facts->observer);
    for (guint i = 0; i < facts->n_stations; i++)
        g_free((char *)facts->stations[i].name);
    g_free((CtStation *)facts->stations);
    for (guint i = 0; i < facts->n_scans; i++)
        g_free((char *)facts->scans[i].source);
    g_free((CtScan *)facts->scans);
    g_strfreev((char **)facts->polarisations);
    g_free(observation);
}

const CtObservationFacts *
ct_observation_facts(const CtObservation *observation)
{
    static const CtObservationFacts nothing = {.start = G_MININT64};
    return observation ? &observation->facts : &nothing;
}

const CtStation *
ct_observation_station(const CtObservation *observation, const char *name)
{
    const CtObservationFacts *facts = ct_observation_facts(observation);
    for (guint i = 0; i < facts->n_stations; i++)
        if (g_str_equal(facts->stations[i].name, name))
            return &facts->stations[i];
    return NULL;
}

static gboolean
are_numbers_equal(gboolean has_a, const gdouble *a, gboolean has_b, const gdouble *b, guint n)
{
    return !has_a == !has_b && (!has_a || memcmp(a, b, n * sizeof *a) == 0);
}

gboolean
ct_observation_equal(const CtObservation *first, const CtObservation *second)
{
    const CtObservationFacts *a = ct_observation_facts(first), *b = ct_observation_facts(second);
    gboolean equal =
        g_strcmp0(a->telescope, b->telescope) == 0 && g_strcmp0(a->source, b->source) == 0 &&
        g_strcmp0(a->project, b->project) == 0 && g_strcmp0(a->observer, b->observer) == 0 &&
        are_numbers_equal(a->has_location, a->location, b->has_location, b->location, 3) &&
        are_numbers_equal(a->has_direction, a->direction, b->has_direction, b->direction, 2) &&
        a->start == b->start && a->n_polarisations == b->n_polarisations &&
        a->n_stations == b->n_stations && a->n_scans == b->n_scans;
    for (guint i = 0; i < a->n_polarisations && equal; i++)
        equal = g_str_equal(a->polarisations[i], b->polarisations[i]);
    for (guint i = 0; i < a->n_stations && equal; i++) {
        const CtStation *x = &a->stations[i], *y = &b->stations[i];
        equal = g_str_equal(x->name, y->name) && memcmp(x->feeds, y->feeds, sizeof x->feeds) == 0 &&
                are_numbers_equal(x->has_position, x->position, y->has_position, y->position, 3);
    }
    for (guint i = 0; i < a->n_scans && equal; i++) {
        const CtScan *x = &a->scans[i], *y = &b->scans[i];
        equal =
            memcmp(&x->begin, &y->begin, sizeof x->begin) == 0 &&
            g_strcmp0(x->source, y->source) == 0 &&
            are_numbers_equal(x->has_direction, x->direction, y->has_direction, y->direction, 2);
    }
    return equal;
}

/* "05:34:31.97"; FALSE if it is not of this form, or not within ± `most`. */
static gboolean
read_sexagesimal(const char *text, gdouble most, gdouble *value)
{
    const gboolean is_negative = *text == '-';
    gdouble parts[3];
    const char *at = text + (is_negative || *text == '+');
    for (guint i = 0; i < 3; i++) {
        char *end;
        if (!g_ascii_isdigit(*at) || at[strspn(at, G_CSET_DIGITS ".:")])
            return FALSE;
        parts[i] = i < 2 ? (gdouble)g_ascii_strtoull(at, &end, 10) : g_ascii_strtod(at, &end);
        if (*end != (i < 2 ? ':' : '\0') || (i > 0 && parts[i] >= 60))
            return FALSE;
        at = end + 1;
    }
    const gdouble size = parts[0] + parts[1] / 60 + parts[2] / 3600;
    *value = is_negative ? -size : size;
    return size <= most;
}

gboolean
ct_angle_parse(const char *text, gboolean is_hours, gdouble *angle, GError **error)
{
    CtQuantity quantity;
    gdouble value;
    if (strchr(text, ':')) {
        if (read_sexagesimal(text, is_hours ? 24 : 360, &value)) {
            *angle = value * (is_hours ? G_PI / 12 : G_PI / 180);
            return TRUE;
        }
    } else if (ct_quantity_parse(&quantity, text, "rad", NULL)) {
        *angle = quantity.value;
        return TRUE;
    }
    g_set_error(error, CT_ERROR, CT_ERROR_PARAMETER,
                "wants an angle such as '83.63 deg' or '%s', but is given '%s'",
                is_hours ? "05:34:31.97" : "-22:00:52.1", text);
    return FALSE;
}

/* ---- places: NGA.STND.0036, the World Geodetic System 1984 ---- */

static const gdouble EQUATOR = 6378137, FLATTENING = 1 / 298.257223563;

void
ct_position_from_geodetic(gdouble longitude, gdouble latitude, gdouble height, gdouble position[3])
{
    const gdouble squared = FLATTENING * (2 - FLATTENING); /* of the eccentricity */
    const gdouble radius = EQUATOR / sqrt(1 - squared * pow(sin(latitude), 2));
    const gdouble from_axis = (radius + height) * cos(latitude);
    position[0] = from_axis * cos(longitude);
    position[1] = from_axis * sin(longitude);
    position[2] = (radius * (1 - squared) + height) * sin(latitude);
}

void
ct_position_to_geodetic(const gdouble position[3], gdouble *longitude, gdouble *latitude,
                        gdouble *height)
{
    const gdouble squared = FLATTENING * (2 - FLATTENING);
    const gdouble from_axis = hypot(position[0], position[1]);
    gdouble angle = atan2(position[2], from_axis * (1 - squared));
    /* Near the Earth, each turn is some 300 times as close as the one before. */
    for (guint turn = 0; turn < 12; turn++) {
        const gdouble radius = EQUATOR / sqrt(1 - squared * pow(sin(angle), 2));
        angle = atan2(position[2] + squared * radius * sin(angle), from_axis);
    }
    *longitude = atan2(position[1], position[0]);
    *latitude = angle;
    *height = from_axis * cos(angle) + position[2] * sin(angle) -
              EQUATOR * sqrt(1 - squared * pow(sin(angle), 2));
}

/* The unit vectors east, north and up at a position, one per row. */
static void
find_axes(const gdouble origin[3], gdouble axes[3][3])
{
    gdouble longitude, latitude, height;
    ct_position_to_geodetic(origin, &longitude, &latitude, &height);
    const gdouble sin_l = sin(longitude), cos_l = cos(longitude);
    const gdouble sin_b = sin(latitude), cos_b = cos(latitude);
    const gdouble rows[3][3] = {
        {-sin_l, cos_l, 0},
        {-sin_b * cos_l, -sin_b * sin_l, cos_b},
        {cos_b * cos_l, cos_b * sin_l, sin_b},
    };
    memcpy(axes, rows, sizeof rows);
}

void
ct_position_from_enu(const gdouble origin[3], const gdouble enu[3], gdouble position[3])
{
    gdouble axes[3][3];
    find_axes(origin, axes);
    for (guint k = 0; k < 3; k++)
        position[k] = origin[k] + axes[0][k] * enu[0] + axes[1][k] * enu[1] + axes[2][k] * enu[2];
}

void
ct_position_to_enu(const gdouble origin[3], const gdouble position[3], gdouble enu[3])
{
    gdouble axes[3][3];
    find_axes(origin, axes);
    for (guint i = 0; i < 3; i++) {
        enu[i] = 0;
        for (guint k = 0; k < 3; k++)
            enu[i] += axes[i][k] * (position[k] - origin[k]);
    }
}
