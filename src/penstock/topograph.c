/* topograph.c - penstock topograph: which nodes are near each other, as files and options of nodes
 *
 * The work is in src/topograph; here are files, programs, the clock and the running cluster. */
#include "penstock/topograph.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/timefmt.h"
#include "penstock/penstock.h"
#include "penstock/tgapply.h"
#include "penstock/tgload.h"
#include "penstock/tgopts.h"
#include "penstock/tgservice.h"
#include "topograph/read/docjson.h"

static void say_notes(const struct graph *g)
{
    const char *at = g ? strbuf_str(&g->notes) : NULL;

    for (; at && *at; at += strcspn(at, "\n") + 1)
        say("note: %.*s", (int)strcspn(at, "\n"), at);
}

/* A file that says which plugin it is for, as slurm.conf must name that too. */
static int write_output(const struct tgopts *o, const struct tgrequest *q, const struct tgrun *run)
{
    _cleanup_val_(strbuf_done) struct strbuf text = STRBUF_INIT;
    bool conf = run->ntopologies && (!q->engine || strcmp(q->engine, "slurm") == 0) &&
                strncmp(strbuf_str(&run->text), "---", 3) != 0;
    struct err err = { .text = "" };

    if (!o->output) {
        (void)fputs(strbuf_str(&run->text), stdout); /* stdout errors show at exit */
        return STATUS_OK;
    }
    if (conf)
        strbuf_addf(&text, "# TopologyPlugin=%s\n", topofile_plugin_name(run->topologies->plugin));
    strbuf_addn(&text, strbuf_str(&run->text), run->text.len);
    if (text.failed)
        return say_nomem();
    return tgload_write(o->output, strbuf_str(&text), text.len, &err) < 0
               ? say_error("topograph: %s", err.text)
               : STATUS_OK;
}

/* Topologies of any engine: those of the options, else a tree. */
static int apply_run(struct tgapply *a, const struct tgrun *run)
{
    struct topofile_units u = { 0 };
    struct err err = { .text = "" };
    size_t changed = 0, failed = 0;
    int r = topofile_units(run->graph, run->topologies, run->ntopologies, &u, &err);

    if (r == 0)
        r = tgapply_units(a, run->graph, &u, &changed, &failed, &err);
    topofile_units_done(&u);
    if (r < 0)
        return say_error("topograph: %s", err.text);
    say("%zu of %zu nodes changed their topology", changed - failed, run->graph->nnodes);
    return failed ? say_error("topograph: %zu nodes were refused", failed) : STATUS_OK;
}

/* One look: what is new is written and applied; *last is the text of the look before. */
static int look_once(const struct tgopts *o, const struct tgrequest *q, struct tgapply *a,
                     struct strbuf *last)
{
    static const struct tgrun_io io = { tgload_input, tgload_partition, NULL };
    struct err err = { .text = "" };
    struct tgrun run;
    int r = STATUS_OK;

    if (tgrun_make(q, &io, &run, &err) < 0) {
        r = say_error("topograph: %s", err.text);
    } else if (o->apply && !run.ntopologies) {
        r = usage_error("topograph: --apply needs the engine slurm or dynamic");
    } else if (!last->len || strcmp(strbuf_str(last), strbuf_str(&run.text)) != 0) {
        say_notes(run.graph);
        if (!o->apply || o->output)
            r = write_output(o, q, &run);
        if (r == STATUS_OK && o->apply)
            r = apply_run(a, &run);
        strbuf_reset(last);
        if (r == STATUS_OK)
            strbuf_addn(last, strbuf_str(&run.text), run.text.len);
    }
    tgrun_done(&run);
    return r;
}

/* Until a signal ends the process: what fails is said, and tried again. */
static int generate_topology(const struct tgopts *o)
{
    _cleanup_(tgapply_free) struct tgapply *a = NULL;
    _cleanup_val_(strbuf_done) struct strbuf last = STRBUF_INIT;
    struct err err = { .text = "" };
    struct tgrequest q;
    int r;

    if (tgrequest_make(json_incref(o->request), &q, &err) < 0) {
        json_decref(o->request);
        return usage_error("topograph: %s", err.text);
    }
    if (tgapply_new(&a) < 0)
        r = say_nomem();
    else if (tgrun_check(&q, &err) < 0)
        r = usage_error("topograph: %s", err.text);
    else
        r = look_once(o, &q, a, &last);
    while (o->watch && r != STATUS_USAGE) {
        const struct timespec pause = { .tv_sec = (time_t)o->every_s };

        (void)fflush(stdout);
        (void)nanosleep(&pause, NULL); /* a signal that does not end us looks sooner */
        (void)look_once(o, &q, a, &last);
    }
    tgrequest_done(&q);
    return r;
}

int cmd_topograph(int argc, char **argv)
{
    struct tgopts o;
    int r = tgopts_parse(argc, argv, &o);

    if (r != STATUS_OK)
        return r < 0 ? STATUS_OK : r;
    r = o.serve ? tgservice_run(&o) : generate_topology(&o);
    json_decref(o.request);
    return r;
}
