// Renders the Helm chart of deploy/helm as `helm template` does, for tests on machines without Helm. It uses the same
// engine (text/template) and the same functions (sprig) as Helm, from Debian's packages. What it lacks: subcharts, files,
// lookups, and the checks of values.schema.json, which the test makes itself.
//
//	go run main.go CHART VALUES.yaml
package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/template"

	"github.com/Masterminds/sprig"
	"gopkg.in/yaml.v3"
)

func main() {
	chart, overrides := os.Args[1], os.Args[2]
	values := merge(read(filepath.Join(chart, "values.yaml")), read(overrides))
	about := read(filepath.Join(chart, "Chart.yaml"))
	root := map[string]interface{}{
		"Values": values,
		"Chart":  map[string]interface{}{"Name": about["name"], "Version": about["version"], "AppVersion": about["appVersion"]},
		"Release": map[string]interface{}{
			"Name": "till", "Namespace": "payments", "Service": "Helm", "Revision": 1, "IsInstall": true, "IsUpgrade": false,
		},
	}
	all := template.New("chart").Option("missingkey=zero")
	all.Funcs(sprig.TxtFuncMap()).Funcs(template.FuncMap{
		"include": func(name string, data interface{}) (string, error) {
			var text bytes.Buffer
			err := all.ExecuteTemplate(&text, name, data)
			return text.String(), err
		},
		"required": func(message string, value interface{}) (interface{}, error) {
			if value == nil || value == "" {
				return nil, fmt.Errorf(message)
			}
			return value, nil
		},
		"toYaml": func(value interface{}) (string, error) {
			text, err := yaml.Marshal(value)
			return strings.TrimSuffix(string(text), "\n"), err
		},
	})
	paths, err := filepath.Glob(filepath.Join(chart, "templates", "*"))
	check(err)
	for _, path := range paths {
		text, err := os.ReadFile(path)
		check(err)
		_, err = all.New(filepath.Base(path)).Parse(string(text))
		check(err)
	}
	for _, path := range paths {
		if strings.HasPrefix(filepath.Base(path), "_") {
			continue
		}
		fmt.Println("---")
		check(all.ExecuteTemplate(os.Stdout, filepath.Base(path), root))
	}
}

func read(path string) map[string]interface{} {
	text, err := os.ReadFile(path)
	check(err)
	values := map[string]interface{}{}
	check(yaml.Unmarshal(text, &values))
	return values
}

// Maps are merged, and everything else is replaced, as in Helm.
func merge(base, over map[string]interface{}) map[string]interface{} {
	for key, value := range over {
		inner, isMap := value.(map[string]interface{})
		below, wasMap := base[key].(map[string]interface{})
		if isMap && wasMap {
			base[key] = merge(below, inner)
		} else {
			base[key] = value
		}
	}
	return base
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
