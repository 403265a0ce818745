/* scontrol_resv.c - scontrol create, update, delete and show reservation */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/pb/pbutil.h"
#include "base/timefmt.h"
#include "cli/format/out_resv.h"
#include "cli/query/out_update.h"
#include "cli/query/resvkeys.h"
#include "cli/scontrol/scontrol.h"
#include "wire/errors.h"
#include "wire/ops.h"

/* "reservation", "res", "reservation=NAME" */
static bool names_entity(const char *word, const char **ret_name)
{
    size_t n = strcspn(word, "=");

    if (n < 3 || n > strlen("reservation") || strncasecmp(word, "reservation", n) != 0)
        return false;
    *ret_name = word[n] ? word + n + 1 : NULL;
    return true;
}

static bool take_words(struct scontrol *s, struct resvkeys *k, int argc, char **argv, bool create)
{
    int64_t now = now_us();

    k->creating = create;
    for (int i = 0; i < argc; i++) {
        struct err err = { .text = "" };
        const char *name;
        int r;

        if (i == 0 && names_entity(argv[i], &name) && (name || !strchr(argv[i], '='))) {
            if (name)
                check_mem_or_die(pb_set_str(&k->req.name, name));
            continue;
        }
        r = resvkeys_take(k, argv[i], now, &err);
        if (r == 0)
            continue;
        if (k->bad_time)
            scontrol_fail(s, "Invalid time specification (pos=%d): %s",
                          time_when_mistake(k->bad_time), k->bad_time);
        if (r == -EEXIST)
            scontrol_fail(s, "scontrol: error: %s", err.text);
        else
            scontrol_fail(s, "scontrol: error: %s.  No reservation %s.", err.text,
                          create ? "created" : "update");
        return false;
    }
    return true;
}

/* What the controller says of its own stands in a line before the code's. */
static void fail_request(struct scontrol *s, const char *what, int r)
{
    const char *text = NULL;
    int code = r == -EREMOTEIO ? client_error(s->client, &text) : 0;

    if (text && *text && strcmp(text, slurm_err_text(code)) != 0) {
        scontrol_fail(s, "scontrol: error: %s", text);
        scontrol_fail(s, "%s: %s", what, slurm_err_text(code));
    } else {
        scontrol_fail(s, "%s: %s", what, client_strerror(s->client, r));
    }
}

void scontrol_create_resv(struct scontrol *s, int argc, char **argv)
{
    struct resvkeys k;
    struct err err = { .text = "" };
    Pst__ResvReply *reply = NULL;
    int r;

    resvkeys_init(&k);
    if (!take_words(s, &k, argc, argv, true)) {
        resvkeys_done(&k);
        return;
    }
    if (resvkeys_check_create(&k, &err) < 0) {
        scontrol_fail(s, "scontrol: error: %s", err.text);
        resvkeys_done(&k);
        return;
    }
    k.req.has_create = k.req.create = true;
    r = client_call(scontrol_client(s, "slurm_create_reservation"), OP_RESV_UPDATE, &k.req.base,
                    (ProtobufCMessage **)&reply);
    if (r < 0) {
        if (client_error(s->client, NULL) == ESLURM_NODES_BUSY && !k.nodes_given)
            (void)printf(
                "Note, unless nodes are directly requested a reservation must exist in a single partition.\n"
                "If no partition is requested the default partition is assumed.\n");
        fail_request(s, "Error creating the reservation", r);
    } else {
        (void)printf("Reservation created: %s\n", reply->name ? reply->name : "");
        pst__resv_reply__free_unpacked(reply, NULL);
    }
    resvkeys_done(&k);
}

void scontrol_update_resv(struct scontrol *s, int argc, char **argv)
{
    struct resvkeys k;
    int r;

    resvkeys_init(&k);
    if (take_words(s, &k, argc, argv, false)) {
        r = client_call(scontrol_client(s, "slurm_update"), OP_RESV_UPDATE, &k.req.base, NULL);
        if (r < 0)
            fail_request(s, "slurm_update error", r);
        else
            (void)printf("Reservation updated.\n");
    }
    resvkeys_done(&k);
}

void scontrol_delete_resv(struct scontrol *s, int argc, char **argv, const char *name)
{
    Pst__ResvRequest request = PST__RESV_REQUEST__INIT;
    int r;

    (void)argc;
    request.has_remove = request.remove = true;
    request.name = (char *)name; /* not changed by packing */
    r = client_call(scontrol_client(s, "slurm_delete_reservation"), OP_RESV_UPDATE, &request.base,
                    NULL);
    if (r < 0)
        scontrol_fail(s, "delete_reservation %s: %s", argv[0], client_strerror(s->client, r));
}

static void show_json(struct scontrol *s, const Pst__ResvSet *set, const char *name)
{
    _cleanup_val_(strbuf_done) struct strbuf out = STRBUF_INIT;
    const struct conf *conf = cli_conf(&s->cli);
    struct json js;

    json_begin_option(&js, &out, &s->json);
    json_list(&js, "reservations");
    for (size_t i = 0; i < set->n_items; i++)
        if (!name || strcasecmp(set->items[i]->name, name) == 0)
            resv_json(&js, set->items[i], set->now_us);
    json_list_end(&js);
    json_time(&js, "last_update", set->changed_us);
    js.warning = cli_standby_note(&s->cli);
    json_meta(&js, s->argc, s->argv, conf_str(conf, CONF_CLUSTER_NAME),
              conf_str(conf, CONF_ACCOUNTING_STORAGE_TYPE));
    json_end(&js);
    (void)fputs(strbuf_str(&out), stdout);
}

void scontrol_show_resvs(struct scontrol *s, const char *name)
{
    _cleanup_val_(strbuf_done) struct strbuf out = STRBUF_INIT;
    Pst__ResvSet *set = NULL;
    size_t shown = 0;
    int r = resv_load(scontrol_client(s, "slurm_load_reservations"), &set);

    if (r < 0) {
        scontrol_fail(s, "slurm_load_reservations error: %s", client_strerror(s->client, r));
        return;
    }
    for (size_t i = 0; i < set->n_items; i++) {
        if (name && strcasecmp(set->items[i]->name, name) != 0)
            continue;
        resv_text(&out, set->items[i], set->now_us, s->show.oneliner);
        shown++;
    }
    if (s->json.wanted) {
        show_json(s, set, name);
    } else if (!shown && name) {
        scontrol_missing(s, stdout, "Reservation %s not found", name);
    } else if (!shown && !s->quiet) {
        (void)printf("No reservations in the system\n");
    } else {
        (void)fputs(strbuf_str(&out), stdout);
    }
    pst__resv_set__free_unpacked(set, NULL);
}

void scontrol_resv_names(FILE *f)
{
    for (size_t i = 0; resvkeys_name(i); i++)
        (void)fprintf(f, "reservation-key\t%s\tshown\n", resvkeys_name(i));
}
