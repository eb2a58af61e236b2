package main

import (
	"fmt"
	"slices"
	"strings"
)

const maxFlatParameters = 16

// results are the Go results of a function: `(T, *E)` for a result, `T`, or none.
type results struct {
	ref     typeRef
	ok, err typeRef
	isPair  bool
}

func (g *generator) resultsOf(one function) (results, error) {
	ref, err := g.resolve(one.Result)
	if err != nil || ref.isNone() || !ref.isIndex {
		return results{ref: ref}, err
	}
	kind, err := g.kindOf(ref.index)
	if err != nil || kind.Result == nil {
		return results{ref: ref}, err
	}
	if kind.Result.Err.isNone() {
		return results{}, fmt.Errorf("a result needs an error")
	}
	return results{ref, kind.Result.Ok, kind.Result.Err, true}, nil
}

func (g *generator) signature(params []field, result results) (string, error) {
	var list []string
	for _, one := range params {
		name, err := g.typeName(one.Type)
		if err != nil {
			return "", err
		}
		list = append(list, lowerCamel(one.Name)+" "+name)
	}
	text := "(" + strings.Join(list, ", ") + ")"
	switch {
	case result.isPair:
		failure, err := g.typeName(result.err)
		if err != nil {
			return "", err
		}
		if result.ok.isNone() {
			return text + " *" + failure, nil
		}
		success, err := g.typeName(result.ok)
		return fmt.Sprintf("%s (%s, *%s)", text, success, failure), err
	case !result.ref.isNone():
		name, err := g.typeName(result.ref)
		return text + " " + name, err
	}
	return text, nil
}

func sortedFunctions(all map[string]function) []function {
	var sorted []function
	for _, one := range all {
		sorted = append(sorted, one)
	}
	slices.SortFunc(sorted, func(a, b function) int { return strings.Compare(a.Name, b.Name) })
	return sorted
}

// imports writes the functions and resources of an imported interface.
func (g *generator) imports(one wit) error {
	module := g.module(one)
	for name, index := range one.Types {
		kind, err := g.kindOf(index)
		if err != nil {
			return err
		}
		if kind.isResource {
			goName, err := g.named(index)
			if err != nil {
				return err
			}
			g.resources[goName] = fmt.Sprintf("//go:wasmimport %s [resource-drop]%s\nfunc drop%s(handle uint32)\n\n", module, name, goName)
		}
	}
	for _, function := range sortedFunctions(one.Functions) {
		if err := g.importFunction(one, function); err != nil {
			return fmt.Errorf("%s: %w", function.Name, err)
		}
	}
	return nil
}

func (g *generator) importFunction(owner wit, one function) error {
	result, err := g.resultsOf(one)
	if err != nil {
		return err
	}
	params, receiver := one.Params, ""
	name := camel(owner.Name) + camel(one.Name)
	if method, isMethod := strings.CutPrefix(one.Name, "[method]"); isMethod {
		_, short, _ := strings.Cut(method, ".")
		resource, err := g.typeName(params[0].Type)
		if err != nil {
			return err
		}
		receiver = "(self " + resource + ") "
		name = camel(short)
		params = params[1:]
	}
	signature, err := g.signature(params, result)
	if err != nil {
		return err
	}
	var c code
	c.line("defer releaseSince(len(referenced))")
	sequence, err := g.sequence(typesOf(one.Params))
	if err != nil {
		return err
	}
	var arguments, cores []string
	if len(sequence.flat) > maxFlatParameters {
		return fmt.Errorf("the generator does not support imports with more than %d core parameters", maxFlatParameters)
	}
	for _, param := range one.Params {
		flat, err := g.lower(&c, param.Type, lowerCamel(param.Name))
		if err != nil {
			return err
		}
		arguments = append(arguments, flat...)
	}
	for index, core := range sequence.flat {
		cores = append(cores, fmt.Sprintf("p%d %s", index, core))
	}
	core := "import" + camel(owner.Name) + camel(strings.NewReplacer("[method]", "", ".", "-").Replace(one.Name))
	returned, err := g.layout0(result)
	if err != nil {
		return err
	}
	coreResult := ""
	switch {
	case len(returned.flat) > 1:
		c.line("area := allocate(%d)", returned.size)
		arguments = append(arguments, "uint32(area)")
		cores = append(cores, fmt.Sprintf("p%d uint32", len(cores)))
		c.line("%s(%s)", core, strings.Join(arguments, ", "))
		if err := g.loadResults(&c, result); err != nil {
			return err
		}
	case len(returned.flat) == 1:
		coreResult = " " + returned.flat[0]
		c.line("returned := %s(%s)", core, strings.Join(arguments, ", "))
		value, err := g.lift(&c, result.ref, []string{"returned"})
		if err != nil {
			return err
		}
		c.line("return %s", value)
	default:
		c.line("%s(%s)", core, strings.Join(arguments, ", "))
	}
	fmt.Fprintf(&g.abi, "//go:wasmimport %s %s\nfunc %s(%s)%s\n\n", g.module(owner), one.Name, core, strings.Join(cores, ", "), coreResult)
	fmt.Fprintf(&g.abi, "%sfunc %s%s%s {\n%s}\n\n", comment(name+": "+one.Docs.Contents, ""), receiver, name, signature, c.text.String())
	return nil
}

func (g *generator) layout0(result results) (layout, error) {
	if result.ref.isNone() {
		return layout{}, nil
	}
	return g.layout(result.ref)
}

func (g *generator) loadResults(c *code, result results) error {
	if !result.isPair {
		load, err := g.load(result.ref)
		c.line("return %s(area)", load)
		return err
	}
	offset, err := g.payloadOffset([]typeRef{result.ok, result.err})
	if err != nil {
		return err
	}
	failure, err := g.load(result.err)
	if err != nil {
		return err
	}
	if result.ok.isNone() {
		c.line("if loadU8(area) == 0 {\nreturn nil\n}")
		c.line("failure := %s(area + %d)\nreturn &failure", failure, offset)
		return nil
	}
	success, err := g.load(result.ok)
	if err != nil {
		return err
	}
	name, err := g.typeName(result.ok)
	if err != nil {
		return err
	}
	c.line("if loadU8(area) == 0 {\nreturn %s(area + %d), nil\n}", success, offset)
	c.line("failure := %s(area + %d)\nvar none %s\nreturn none, &failure", failure, offset, name)
	return nil
}

// exports writes the interface that a program implements, and the functions that call it.
func (g *generator) exports(one wit) error {
	name := camel(one.Name)
	var text strings.Builder
	fmt.Fprintf(&text, "%stype %s interface {\n", comment(name+": "+one.Docs.Contents, ""), name)
	for _, function := range sortedFunctions(one.Functions) {
		result, err := g.resultsOf(function)
		if err != nil {
			return err
		}
		signature, err := g.signature(function.Params, result)
		if err != nil {
			return fmt.Errorf("%s: %w", function.Name, err)
		}
		text.WriteString(comment(function.Docs.Contents, "\t"))
		fmt.Fprintf(&text, "\t%s%s\n", camel(function.Name), signature)
	}
	g.types.WriteString(text.String() + "}\n\n")
	fmt.Fprintf(&g.abi, "var exported%s %s\n\n// Export%s sets the implementation of the exported interface.\n", name, name, name)
	fmt.Fprintf(&g.abi, "func Export%s(implementation %s) { exported%s = implementation }\n\n", name, name, name)
	for _, function := range sortedFunctions(one.Functions) {
		if err := g.exportFunction(one, function); err != nil {
			return fmt.Errorf("%s: %w", function.Name, err)
		}
	}
	return nil
}

func (g *generator) exportFunction(owner wit, one function) error {
	result, err := g.resultsOf(one)
	if err != nil {
		return err
	}
	sequence, err := g.sequence(typesOf(one.Params))
	if err != nil {
		return err
	}
	var c code
	var cores, arguments []string
	if len(sequence.flat) > maxFlatParameters {
		cores = []string{"parameters uint32"}
		offsets, err := g.offsets(typesOf(one.Params))
		if err != nil {
			return err
		}
		for index, param := range one.Params {
			load, err := g.load(param.Type)
			if err != nil {
				return err
			}
			arguments = append(arguments, fmt.Sprintf("%s(uintptr(parameters) + %d)", load, offsets[index]))
		}
	} else {
		var flat []string
		for index, core := range sequence.flat {
			flat = append(flat, fmt.Sprintf("p%d", index))
			cores = append(cores, fmt.Sprintf("p%d %s", index, core))
		}
		for _, param := range one.Params {
			layout, err := g.layout(param.Type)
			if err != nil {
				return err
			}
			value, err := g.lift(&c, param.Type, flat[:len(layout.flat)])
			if err != nil {
				return err
			}
			arguments = append(arguments, value)
			flat = flat[len(layout.flat):]
		}
	}
	call := fmt.Sprintf("exported%s.%s(%s)", camel(owner.Name), camel(one.Name), strings.Join(arguments, ", "))
	returned, err := g.layout0(result)
	if err != nil {
		return err
	}
	if len(returned.flat) < 2 {
		return fmt.Errorf("the generator supports only exports whose results are in memory")
	}
	if err := g.storeResults(&c, result, call, returned.size); err != nil {
		return err
	}
	export := g.module(owner) + "#" + one.Name
	function := "export" + camel(owner.Name) + camel(one.Name)
	fmt.Fprintf(&g.abi, "//go:wasmexport %s\nfunc %s(%s) uint32 {\n%s\treturn uint32(area)\n}\n\n", export, function, strings.Join(cores, ", "), c.text.String())
	fmt.Fprintf(&g.abi, "//go:wasmexport cabi_post_%s\nfunc post%s(uint32) { release() }\n\n", export, camel(function))
	return nil
}

func (g *generator) storeResults(c *code, result results, call string, size int) error {
	if !result.isPair {
		store, err := g.store(result.ref)
		c.line("result := %s", call)
		c.line("area := allocate(%d)", size)
		c.line("%s(area, result)", store)
		return err
	}
	offset, err := g.payloadOffset([]typeRef{result.ok, result.err})
	if err != nil {
		return err
	}
	failure, err := g.store(result.err)
	if err != nil {
		return err
	}
	if result.ok.isNone() {
		c.line("failure := %s", call)
	} else {
		c.line("success, failure := %s", call)
	}
	c.line("area := allocate(%d)", size)
	c.line("if failure != nil {\nstoreU8(area, 1)\n%s(area + %d, *failure)\n}", failure, offset)
	if !result.ok.isNone() {
		success, err := g.store(result.ok)
		if err != nil {
			return err
		}
		c.line("if failure == nil {\n%s(area + %d, success)\n}", success, offset)
	}
	return nil
}
