(function_item name: (_) @name body: (_) @until) @function
(function_signature_item name: (_) @name) @function
(macro_definition name: (_) @name) @function
(closure_expression body: (_) @until) @function
(let_declaration pattern: (identifier) @name 
  value: (closure_expression body: (_) @until) @function) @whole
(struct_item name: (_) @name) @class
(struct_item name: (_) @name body: (field_declaration_list) @until) @class
(enum_item name: (_) @name body: (_) @until) @class
(union_item name: (_) @name body: (_) @until) @class
(trait_item name: (_) @name body: (_) @until) @class
(type_item name: (_) @name) @class
(mod_item name: (_) @name body: (_) @until) @class
(const_item name: (_) @name) @member
(static_item name: (_) @name) @member
(attribute_item) @decorator
(line_comment) @comment
(block_comment) @comment

(impl_item type: [(type_identifier) (scoped_type_identifier)] @label) @scope
(impl_item type: (generic_type type: (_) @label)) @scope
(impl_item type: (reference_type type: (type_identifier) @label)) @scope
(impl_item trait: [(type_identifier) (scoped_type_identifier)] @base)
(impl_item trait: (generic_type type: (_) @base))
(trait_item bounds: (trait_bounds [(type_identifier) (scoped_type_identifier)] @base)) @derived
(trait_item bounds: (trait_bounds (generic_type type: (_) @base))) @derived

(call_expression function: (identifier) @name) @call
((call_expression function: (scoped_identifier) @callee) @call
  (#set! receiver "path") (#set! name "name"))
((call_expression function: (field_expression) @callee) @call
  (#set! receiver "value") (#set! name "field"))
(call_expression function: (generic_function function: (identifier) @name)) @call
((call_expression function: (generic_function function: (scoped_identifier) @callee)) @call
  (#set! receiver "path") (#set! name "name"))
((call_expression function: (generic_function function: (field_expression) @callee)) @call
  (#set! receiver "value") (#set! name "field"))
(call_expression) @call
(macro_invocation macro: (identifier) @name) @call
((macro_invocation macro: (scoped_identifier) @callee) @call
  (#set! receiver "path") (#set! name "name"))

(use_declaration argument: [(identifier) (crate)] @module) @import
(use_declaration argument: (scoped_identifier path: (_)? @module name: (_) @imported)) @import
(use_declaration argument: (use_wildcard (_) @module (#set! imported "*"))) @import
(use_declaration argument: (use_as_clause path: (identifier) @module alias: (_) @alias)) @import
(use_list (use_as_clause path: (identifier) @imported alias: (_) @alias) @import)
(use_as_clause path: (scoped_identifier path: (_)? @module name: (_) @imported) alias: (_) @alias) @import
(use_as_clause path: (self) alias: (_) @alias) @import
(use_as_clause alias: (_) @renamed)
(scoped_use_list path: (_) @label) @scope
(use_list (identifier) @imported @import)
(use_list (self) @import)
(use_list (scoped_identifier path: (_)? @module name: (_) @imported) @import)
(use_list (use_wildcard (_)? @module) @import (#set! imported "*"))
(extern_crate_declaration name: (_) @module alias: (_)? @alias) @import
(mod_item name: (_) @module !body) @import

[(identifier) (type_identifier)] @use
((scoped_identifier) @use
  (#set! receiver "path") (#set! name "name"))
((scoped_type_identifier) @use
  (#set! receiver "path") (#set! name "name"))
(scoped_identifier name: (identifier) @other)
(scoped_type_identifier name: (type_identifier) @other)
(parameter pattern: (identifier) @local)
(closure_parameters (identifier) @local)
(let_declaration pattern: (identifier) @local)
(for_expression pattern: (identifier) @local)
(tuple_pattern (identifier) @local)
(slice_pattern (identifier) @local)
(tuple_struct_pattern type: (_) (identifier) @local)
(captured_pattern . (identifier) @local)
(mut_pattern (identifier) @local)
(ref_pattern (identifier) @local)
(reference_pattern (identifier) @local)
((match_pattern (identifier) @local)
  (#match? @local "^[a-z_]"))
(type_parameters (type_parameter name: (type_identifier) @local))
(impl_item trait: (_) @other)
(impl_item type: (_) @other)
(use_declaration) @other
(extern_crate_declaration) @other
(attribute_item) @other
(token_tree) @other
(assignment_expression left: (identifier) @other)
