(function_declaration name: (_) @name body: (_) @until) @function
(function_declaration name: (_) @name !body) @function
(method_declaration receiver: (parameter_list (parameter_declaration type: [
    (type_identifier) @label
    (pointer_type (type_identifier) @label)
    (generic_type type: (_) @label)
    (pointer_type (generic_type type: (_) @label))
  ])) name: (_) @name body: (_) @until) @function
(func_literal body: (_) @until) @function
(var_spec name: (identifier) @name value: (expression_list . (func_literal body: (_) @until) @function .)) @whole
(short_var_declaration left: (expression_list . (identifier) @name .)
  right: (expression_list . (func_literal body: (_) @until) @function .)) @whole
(type_spec name: (_) @name type: (_)) @class
(type_spec name: (_) @name type: (struct_type (field_declaration_list) @until)) @class
(type_alias name: (_) @name) @class
(interface_type (method_elem name: (_) @name) @function)
(const_spec (identifier) @name @member) @whole
(var_spec (identifier) @name @member) @whole
(type_declaration "type" . (type_spec) @inner) @outer
(const_declaration "const" . (const_spec) @inner) @outer
(var_declaration "var" . (var_spec) @inner) @outer
(comment) @comment

(type_spec type: (struct_type (field_declaration_list (field_declaration !name type: [
    (type_identifier)
    (qualified_type)
  ] @base)))) @derived
(type_spec type: (struct_type (field_declaration_list (field_declaration !name
  type: (generic_type type: (_) @base))))) @derived
(type_spec type: (interface_type (type_elem . [(type_identifier) (qualified_type)] @base .))) @derived

(call_expression function: (identifier) @name) @call
((call_expression function: (selector_expression) @callee) @call
  (#set! receiver "operand") (#set! name "field"))
(type_conversion_expression type: (generic_type type: (type_identifier) @name)) @call
(call_expression) @call

(import_spec !name path: (_ (_) @module)) @import
(import_spec name: [(package_identifier) (blank_identifier)] @alias path: (_ (_) @module)) @import
(import_spec name: (dot) path: (_ (_) @module) (#set! imported "*")) @import

[(identifier) (type_identifier)] @use
((selector_expression) @use
  (#set! receiver "operand") (#set! name "field"))
((qualified_type) @use
  (#set! receiver "package") (#set! name "name"))
(qualified_type name: (type_identifier) @other)
(parameter_declaration name: (identifier) @local)
(variadic_parameter_declaration name: (identifier) @local)
(type_parameter_declaration name: (identifier) @local)
(short_var_declaration left: (expression_list (identifier) @local))
(var_spec name: (identifier) @local)
(const_spec name: (identifier) @local)
(range_clause left: (expression_list (identifier) @local))
(type_switch_statement alias: (expression_list (identifier) @local))
(keyed_element . (literal_element (identifier) @other))
(assignment_statement left: (expression_list (identifier) @other))
(package_clause) @other
(method_declaration receiver: (parameter_list (parameter_declaration type: (_) @other)))
