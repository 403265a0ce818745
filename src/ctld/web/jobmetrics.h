/* jobmetrics.h - the pages of jobs: of the cluster, of users and accounts; from a view */
#pragma once

#include "base/strbuf.h"

struct view;

void jobmetrics_cluster(const struct view *view, struct strbuf *sb);
void jobmetrics_who(const struct view *view, struct strbuf *sb);
