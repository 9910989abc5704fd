(function_signature name: (_) @name) @function
(method_signature name: (_) @name) @function
(abstract_method_signature name: (_) @name) @function
(public_field_definition name: (_) @name value: (arrow_function body: (_) @until) @function) @whole
(abstract_class_declaration name: (_) @name body: (_) @until) @class
(interface_declaration name: (_) @name body: (_) @until) @class
(enum_declaration name: (_) @name body: (_) @until) @class
(internal_module name: (_) @name body: (_) @until) @class
(module name: [(identifier) (nested_identifier)] @name body: (_) @until) @class
(type_alias_declaration name: (_) @name "=" @until) @class
(ambient_declaration (_) @inner) @outer
(expression_statement (internal_module) @inner) @outer

(class_declaration (class_heritage (extends_clause value: [(identifier) (member_expression)] @base))) @derived
(class_declaration (class_heritage (implements_clause [(type_identifier) (nested_type_identifier)] @base))) @derived
(class_declaration (class_heritage (implements_clause (generic_type name: (_) @base)))) @derived
(abstract_class_declaration (class_heritage (extends_clause value: [(identifier) (member_expression)] @base))) @derived
(abstract_class_declaration (class_heritage (implements_clause [(type_identifier) (nested_type_identifier)] @base))) @derived
(abstract_class_declaration (class_heritage (implements_clause (generic_type name: (_) @base)))) @derived
(class (class_heritage (extends_clause value: [(identifier) (member_expression)] @base))) @derived
(interface_declaration (extends_type_clause [(type_identifier) (nested_type_identifier)] @base)) @derived
(interface_declaration (extends_type_clause (generic_type name: (_) @base))) @derived

(import_statement (import_require_clause (identifier) @alias source: (string (string_fragment) @module))) @import

(type_identifier) @use
(required_parameter pattern: (identifier) @local)
(optional_parameter pattern: (identifier) @local)
(type_parameter name: (type_identifier) @local)
(index_signature name: (identifier) @local)
(nested_type_identifier name: (type_identifier) @other)
