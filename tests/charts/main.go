// Charts as Helm's own engine renders them, with the check of their values' schema.
//
// usage: charts CHART RELEASE NAMESPACE [VALUES.yaml]...
package main

import (
	"fmt"
	"io"
	"log"
	"os"
	"sort"
	"strings"

	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
)

func render(path, release, namespace string, files []string) (map[string]string, error) {
	chart, err := loader.Load(path)
	if err != nil {
		return nil, err
	}
	given := map[string]interface{}{}
	for _, file := range files {
		more, err := chartutil.ReadValuesFile(file)
		if err != nil {
			return nil, err
		}
		given = chartutil.CoalesceTables(more.AsMap(), given)
	}
	options := chartutil.ReleaseOptions{Name: release, Namespace: namespace, Revision: 1, IsInstall: true}
	values, err := chartutil.ToRenderValues(chart, given, options, chartutil.DefaultCapabilities)
	if err != nil {
		return nil, err
	}
	return engine.Render(chart, values)
}

func main() {
	log.SetOutput(io.Discard) // the loader tells of links, which are meant
	made, err := render(os.Args[1], os.Args[2], os.Args[3], os.Args[4:])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	names := make([]string, 0, len(made))
	for name := range made {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		for _, text := range strings.Split(made[name], "\n---") {
			if text = strings.TrimSpace(strings.TrimPrefix(text, "---")); text != "" {
				fmt.Printf("---\n%s\n", text)
			}
		}
	}
}
