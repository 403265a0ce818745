/* nodemetrics.h - the pages of nodes and partitions; from a view */
#pragma once

#include "base/strbuf.h"

struct view;

void nodemetrics_nodes(const struct view *view, struct strbuf *sb);
void nodemetrics_parts(const struct view *view, struct strbuf *sb);
