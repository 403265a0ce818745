/* bench_topograph.c - what ibnetdiscover prints of a large fabric, read, merged and written
 *
 * Rail-optimised fat trees in three tiers: scalable units of 32 nodes on 8 leaf switches, 8 spines
 * above each 16 units, cores above all.  One JSON object a line; `port_ns` should not grow much
 * with the size. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/timefmt.h"
#include "topograph/graphfinish.h"
#include "topograph/read/ibnet.h"
#include "topograph/write/topofile.h"

enum { UNIT_NODES = 32, RAILS = 8, UNITS_POD = 16, SPINES = 8, CORES = 16, ROUNDS = 5 };

struct fabric_text {
    struct strbuf text;
    unsigned ports;
};

static void begin_switch(struct fabric_text *f, char kind, unsigned a, unsigned b)
{
    strbuf_addf(&f->text,
                "\nvendid=0x2c9\nswitchguid=0x%c%u\nSwitch\t65 \"S-%c%u-%u\"\t\t# "
                "\"MF0;%c-%u-%u:MQM9700/U1\" enhanced port 0 lid 3 lmc 0\n",
                kind, a, kind, a, b, kind, a, b);
}

static void add_port(struct fabric_text *f, char kind, unsigned a, unsigned b)
{
    strbuf_addf(&f->text, "[%u]\t\"S-%c%u-%u\"[1](2c9)\t\t# \"MF0;x:MQM9700/U1\" lid 10 4xNDR\n",
                f->ports++ % 64 + 1, kind, a, b);
}

static void add_leaf(struct fabric_text *f, unsigned unit, unsigned rail)
{
    begin_switch(f, 'l', unit, rail);
    for (unsigned n = 0; n < UNIT_NODES; n++)
        strbuf_addf(&f->text, "[%u]\t\"H-%u-%u\"[1](2c9)\t\t# \"node%05u mlx5_%u\" lid 10 4xNDR\n",
                    f->ports++ % 64 + 1, unit * UNIT_NODES + n, rail, unit * UNIT_NODES + n, rail);
    for (unsigned s = 0; s < SPINES; s++)
        add_port(f, 's', unit / UNITS_POD, s);
}

static void add_spine(struct fabric_text *f, unsigned units, unsigned pod, unsigned spine)
{
    begin_switch(f, 's', pod, spine);
    for (unsigned u = pod * UNITS_POD; u < units && u < (pod + 1) * UNITS_POD; u++)
        for (unsigned r = 0; r < RAILS; r++)
            add_port(f, 'l', u, r);
    for (unsigned c = 0; c < CORES; c++)
        add_port(f, 'c', c, 0);
}

static void make_text(struct fabric_text *f, unsigned units)
{
    unsigned pods = (units + UNITS_POD - 1) / UNITS_POD;

    strbuf_add(&f->text, "#\n# Topology file: generated on Mon Aug  3 10:00:00 2026\n#\n");
    for (unsigned u = 0; u < units; u++)
        for (unsigned r = 0; r < RAILS; r++)
            add_leaf(f, u, r);
    for (unsigned p = 0; p < pods; p++)
        for (unsigned s = 0; s < SPINES; s++)
            add_spine(f, units, p, s);
    for (unsigned c = 0; c < CORES; c++) {
        begin_switch(f, 'c', c, 0);
        for (unsigned p = 0; p < pods; p++)
            for (unsigned s = 0; s < SPINES; s++)
                add_port(f, 's', p, s);
    }
    for (unsigned n = 0; n < units * UNIT_NODES; n++)
        for (unsigned r = 0; r < RAILS; r++)
            strbuf_addf(&f->text,
                        "\nCa\t1 \"H-%u-%u\"\t\t# \"node%05u mlx5_%u\"\n[1](2c9) \t\"S-l%u-%u\"[1]"
                        "\t\t# lid 10 lmc 0 \"MF0;x:MQM9700/U1\" lid 3 4xNDR\n",
                        n, r, n, r, n / UNIT_NODES, r);
}

/* Microseconds from the text to topology.conf; 0: it failed. */
static int64_t run_once(const struct fabric_text *f, unsigned units, size_t *ret_out)
{
    const struct graph_finish how = { .normalise = true };
    struct strbuf out = STRBUF_INIT;
    struct err err = { .text = "" };
    int64_t begin_us = now_mono_us(), took_us = 0;
    struct graph *g = NULL;
    struct topofile t = { .name = "default", .plugin = TOPOFILE_TREE };

    if (graph_new(&g) == 0 && ibnet_read(strbuf_str(&f->text), f->text.len, NULL, g, &err) == 0 &&
        graph_finish(g, &how, &err) == 0) {
        t.graph = g;
        if (topofile_conf(&t, &out, &err) == 0 && g->nnodes == (size_t)units * UNIT_NODES)
            took_us = now_mono_us() - begin_us;
    }
    if (err.text[0])
        (void)fprintf(stderr, "bench_topograph: %s\n", err.text);
    *ret_out = out.len;
    strbuf_done(&out);
    graph_free(g);
    return took_us;
}

static int bench_fabric(unsigned units)
{
    struct fabric_text f = { .text = STRBUF_INIT };
    int64_t best_us = INT64_MAX;
    size_t written = 0;

    make_text(&f, units);
    for (int i = 0; i < ROUNDS; i++) {
        int64_t took_us = run_once(&f, units, &written);

        if (!took_us)
            return 1;
        best_us = MIN(best_us, took_us);
    }
    (void)printf("{\"bench\": \"topograph\", \"nodes\": %u, \"ports\": %u, \"text_mib\": %.1f, "
                 "\"ms\": %.1f, \"port_ns\": %.0f, \"written\": %zu}\n",
                 units * UNIT_NODES, f.ports, (double)f.text.len / 1048576, (double)best_us / 1000,
                 (double)best_us * 1000 / f.ports, written);
    strbuf_done(&f.text);
    return 0;
}

int main(void)
{
    static const unsigned units[] = { 8, 32, 128, 512 };
    int r = 0;

    for (size_t i = 0; r == 0 && i < ARRAY_SIZE(units); i++)
        r = bench_fabric(units[i]);
    return r;
}
