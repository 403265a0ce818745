/* topotree.h - tree: switches above leaf switches */
#pragma once

struct topo_ask;
struct topo_space;

/* Leaf after leaf below one switch, the nearest first.  1, 0 with sp->why, -ENOMEM. */
int topo_choose_tree(struct topo_ask *a, struct topo_space *sp);
