/* jobmetrics.h - the pages of jobs: of the cluster, of users and accounts; from a view */
#pragma once

#include "base/strbuf.h"
#include "ctld/web/metrictally.h"

struct view;

/* fn for every job of the view, with what it counts for; both are lent for the call. */
typedef void jobmetrics_fn(void *ctx, const Pst__JobRecord *job, const struct job_tally *one);
void jobmetrics_each(const struct view *view, jobmetrics_fn *fn, void *ctx);

void jobmetrics_cluster(const struct view *view, struct strbuf *sb);
void jobmetrics_who(const struct view *view, struct strbuf *sb);
