(class_declaration name: (_) @name body: (_) @until) @class
(interface_declaration name: (_) @name body: (_) @until) @class
(enum_declaration name: (_) @name body: (_) @until) @class
(record_declaration name: (_) @name body: (_) @until) @class
(annotation_type_declaration name: (_) @name body: (_) @until) @class
(method_declaration name: (_) @name body: (_) @until) @function
(method_declaration name: (_) @name !body) @function
(constructor_declaration name: (_) @name body: (_) @until) @function
(compact_constructor_declaration name: (_) @name body: (_) @until) @function
(annotation_type_element_declaration name: (_) @name) @function
(lambda_expression body: (_) @until) @function
(_ declarator: (variable_declarator name: (_) @name
  value: (lambda_expression body: (_) @until) @function)) @whole
(field_declaration declarator: (variable_declarator name: (_) @name @member)) @whole
(constant_declaration declarator: (variable_declarator name: (_) @name @member)) @whole
(enum_constant name: (_) @name) @member
(line_comment) @comment
(block_comment) @comment

(class_declaration superclass: (superclass [(type_identifier) (scoped_type_identifier)] @base)) @derived
(class_declaration superclass: (superclass (generic_type . (_) @base))) @derived
(class_declaration interfaces: (super_interfaces (type_list [(type_identifier) (scoped_type_identifier)] @base))) @derived
(class_declaration interfaces: (super_interfaces (type_list (generic_type . (_) @base)))) @derived
(enum_declaration interfaces: (super_interfaces (type_list [(type_identifier) (scoped_type_identifier)] @base))) @derived
(enum_declaration interfaces: (super_interfaces (type_list (generic_type . (_) @base)))) @derived
(record_declaration interfaces: (super_interfaces (type_list [(type_identifier) (scoped_type_identifier)] @base))) @derived
(record_declaration interfaces: (super_interfaces (type_list (generic_type . (_) @base)))) @derived
(interface_declaration (extends_interfaces (type_list [(type_identifier) (scoped_type_identifier)] @base))) @derived
(interface_declaration (extends_interfaces (type_list (generic_type . (_) @base)))) @derived

((method_invocation) @call @callee
  (#set! receiver "object") (#set! name "name"))
(object_creation_expression type: (type_identifier) @name) @call
(object_creation_expression type: (scoped_type_identifier (_) @receiver (type_identifier) @name .)) @call
(object_creation_expression type: (generic_type . (type_identifier) @name)) @call
(object_creation_expression) @call
(explicit_constructor_invocation constructor: (_) @name) @call

(import_declaration (identifier) @module) @import
(import_declaration (scoped_identifier scope: (_) @module name: (_) @imported) . ";") @import
(import_declaration (_) @module (asterisk) @imported) @import

[(identifier) (type_identifier)] @use
((field_access) @use
  (#set! receiver "object") (#set! name "field"))
(field_access field: (identifier) @other)
(method_invocation name: (identifier) @other)
(method_reference (_) (identifier) @other)
(scoped_type_identifier (_) (type_identifier) @other)
(formal_parameter name: (identifier) @local)
(spread_parameter (variable_declarator name: (identifier) @local))
(local_variable_declaration declarator: (variable_declarator name: (identifier) @local))
(catch_formal_parameter name: (identifier) @local)
(enhanced_for_statement name: (identifier) @local)
(resource name: (identifier) @local)
(inferred_parameters (identifier) @local)
(lambda_expression parameters: (identifier) @local)
(type_pattern (identifier) @local)
(instanceof_expression name: (identifier) @local)
(type_parameter (type_identifier) @local)
(element_value_pair key: (identifier) @other)
(labeled_statement . (identifier) @other)
(break_statement (identifier) @other)
(continue_statement (identifier) @other)
(assignment_expression left: (identifier) @other)
(package_declaration) @other
