/* pickmany.h - several nodes for a job */
#pragma once

struct calt;
struct fitvec;
struct pick;

int by_node(const void *a, const void *b);
void sort_fits(struct fitvec *v, int (*cmp)(const void *, const void *));
/* Where the limit on nodes binds, first try nodes that each hold an even part: any of them will do.
 * Then any in order; only if these are too few take those that hold most. */
int choose_several(struct pick *p);
/* The first and shortest stretch of adjacent nodes, around the required ones, that is enough and
 * meets the counts of features. */
int choose_contiguous(struct pick *p, const struct calt *a);
