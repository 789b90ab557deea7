/**
 * The routes of the service as types. Written by `deno task openapi`: do not edit.
 *
 * @module
 */

export interface paths {
    "/v1/auth/admins/login": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Log in as an administrator of the realm */
        post: operations["logInAdministrator"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/auth/users/login": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Log in as a user */
        post: operations["logInUser"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/auth/login": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Log in as a user */
        post: operations["logIn"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/auth/me": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read the current user */
        get: operations["getCurrentUser"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/auth/logout": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Revoke the key in use */
        post: operations["logOut"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/.well-known/jwks.json": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read the public keys that check user keys */
        get: operations["listPublicKeys"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/realms": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List realms */
        get: operations["listRealms"];
        put?: never;
        /**
         * Create a realm
         * @description The answer shows the keys once; keep them.
         */
        post: operations["createRealm"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/realms/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read a realm */
        get: operations["getRealm"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        /**
         * Change a realm
         * @description For the operator, and but for `tier` for the realm's administrators. A new country or currency applies to entities created from then on. `withdrawals`, `chains` and `messages` take a login of the last 10 minutes.
         */
        patch: operations["updateRealm"];
        trace?: never;
    };
    "/v1/realms/{id}/realm-key": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Replace the realm key
         * @description The one before holds beside it until it is ended or replaced again.
         */
        post: operations["createRealmKey"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/realms/{id}/realm-key/previous": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /** End the realm key before the present one */
        delete: operations["deletePreviousRealmKeys"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/realms/{id}/keys": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List application keys, without the keys themselves */
        get: operations["listApplicationKeys"];
        put?: never;
        /**
         * Create an application key
         * @description Keys there are go on working until they are deleted.
         */
        post: operations["createApplicationKey"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/realms/{id}/keys/{key}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /** End an application key */
        delete: operations["deleteApplicationKey"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/realms/{id}/credits/available": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read how many credits are left this month
         * @description Without limit: 999999999999999.
         */
        get: operations["getAvailableCredits"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/realms/{id}/users": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Create a user of a realm */
        post: operations["createRealmUser"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/audit": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read the trail of changes
         * @description For administrators of the realm. Newest first unless sorted by `created_at`.
         */
        get: operations["listAuditLines"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/messages/webhook/infobip": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Take delivery reports of the provider
         * @description A report that comes twice, late or out of order changes nothing.
         */
        post: operations["recordDeliveryReports"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/messages/webhook/whatsapp": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Take notice of WhatsApp messages that people wrote to the sending number
         * @description They may be written to from then on. Nothing but the two numbers and the time is kept.
         */
        post: operations["recordWhatsAppMessages"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/apps/message/sms": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Send an SMS to anyone
         * @description The message is stored and sent by a job; its state is PENDING until then.
         */
        post: operations["sendSmsToAnyone"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/apps/message/whatsapp": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Send a WhatsApp message to anyone
         * @description The recipient must have written to the sending number before. The message is stored and sent by a job; its state is PENDING until then.
         */
        post: operations["sendWhatsAppToAnyone"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/apps/message/email": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Send an e-mail to anyone
         * @description Given both `html` and `text`, the e-mail is sent as html. The message is stored and sent by a job; its state is PENDING until then.
         */
        post: operations["sendEmailToAnyone"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/users/{id}/message/sms": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Send an SMS to a user
         * @description The message is stored and sent by a job; its state is PENDING until then.
         */
        post: operations["sendSmsToUser"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/users/{id}/message/whatsapp": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Send a WhatsApp message to a user
         * @description The recipient must have written to the sending number before. The message is stored and sent by a job; its state is PENDING until then.
         */
        post: operations["sendWhatsAppToUser"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/users/{id}/message/email": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Send an e-mail to a user
         * @description Given both `html` and `text`, the e-mail is sent as html. The message is stored and sent by a job; its state is PENDING until then.
         */
        post: operations["sendEmailToUser"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/identities/{id}/person/message/sms": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Send an SMS to a person
         * @description The message is stored and sent by a job; its state is PENDING until then.
         */
        post: operations["sendSmsToPerson"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/identities/{id}/person/message/whatsapp": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Send a WhatsApp message to a person
         * @description The recipient must have written to the sending number before. The message is stored and sent by a job; its state is PENDING until then.
         */
        post: operations["sendWhatsAppToPerson"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/identities/{id}/person/message/email": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Send an e-mail to a person
         * @description Given both `html` and `text`, the e-mail is sent as html. The message is stored and sent by a job; its state is PENDING until then.
         */
        post: operations["sendEmailToPerson"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/messages/all": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Find: each answer is a message */
        get: operations["findMessages"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/messages": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List page by page: each row is a message */
        get: operations["listMessages"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/messages/count": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Count */
        get: operations["countMessages"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/messages/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read a message */
        get: operations["getMessage"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        /** Change the free-form part of a message */
        patch: operations["updateMessage"];
        trace?: never;
    };
    "/v1/users": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List page by page: each row is a user */
        get: operations["listUsers"];
        put?: never;
        /**
         * Create a user
         * @description Without `identity`, one is made with the realm's country and currency. A role or scope beyond `user` and `own` takes a login of the last 10 minutes.
         */
        post: operations["createUser"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/users/all": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Find: each answer is a user */
        get: operations["findUsers"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/users/count": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Count */
        get: operations["countUsers"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/users/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read a user */
        get: operations["getUser"];
        put?: never;
        post?: never;
        /**
         * Delete a user; all keys it holds end
         * @description This takes a login of the last 10 minutes. A machine key shuts a user out by `active: false`.
         */
        delete: operations["deleteUser"];
        options?: never;
        head?: never;
        /**
         * Change a user
         * @description A new password, role, scope or activity ends all keys that the user holds. Another's password, `active: true`, another username, another e-mail address of an administrator, and a role or scope beyond `user` and `own`, take a login of the last 10 minutes; one's own password the present one: `POST /v1/users/{id}/password`.
         */
        patch: operations["updateUser"];
        trace?: never;
    };
    "/v1/users/{id}/undelete": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Restore a user
         * @description This takes a login of the last 10 minutes.
         */
        post: operations["undeleteUser"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/users/{id}/password": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Change one's own password
         * @description Wrong present passwords count like wrong logins. All user keys end.
         */
        post: operations["changePassword"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/users/{id}/totp": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read whether a user's logins take one-time passwords */
        get: operations["getTotp"];
        put?: never;
        /**
         * Begin one-time passwords for one's own logins
         * @description `secret` and `uri` are shown this once. Logins ask for a `code` once a first one has confirmed them. This takes a login of the last 10 minutes.
         */
        post: operations["beginTotp"];
        /**
         * End a user's one-time passwords
         * @description One's own, or those of a user whom one may change. This takes a login of the last 10 minutes.
         */
        delete: operations["deleteTotp"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/users/{id}/totp/confirm": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Confirm one-time passwords by a first code
         * @description The recovery codes are shown this once; each stands in for a code once.
         */
        post: operations["confirmTotp"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/auth/logins": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List one's own logins
         * @description Each is a user key that holds; a machine key sees none. At most 100 hold at once: one more ends the oldest.
         */
        get: operations["listOwnLogins"];
        put?: never;
        post?: never;
        /**
         * End all of one's own logins but the one in use
         * @description The key that it gave is refused within a second everywhere.
         */
        delete: operations["endOtherLogins"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/auth/logins/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * End one of one's own logins
         * @description The key that it gave is refused within a second everywhere.
         */
        delete: operations["endOwnLogin"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/users/{id}/logins": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List a user's logins
         * @description One's own, or anybody's for administrators of the realm. Each is a user key that holds; a machine key sees none. At most 100 hold at once: one more ends the oldest.
         */
        get: operations["listUserLogins"];
        put?: never;
        post?: never;
        /**
         * End all logins of a user
         * @description One's own, the one in use too, or anybody's for administrators of the realm.
         */
        delete: operations["endUserLogins"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/users/{id}/logins/{login}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * End one of a user's logins
         * @description The key that it gave is refused within a second everywhere.
         */
        delete: operations["endUserLogin"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/keys": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List page by page: each row is a key */
        get: operations["listApiKeys"];
        put?: never;
        /**
         * Make a key for a machine
         * @description It acts as its user, with the roles and scopes given (all of the user's unless given) as far as the user has them at that moment. `key` is shown this once and sent as x-api-key. This takes a login of the last 10 minutes.
         */
        post: operations["createApiKey"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/keys/all": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Find: each answer is a key */
        get: operations["findApiKeys"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/keys/count": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Count */
        get: operations["countApiKeys"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/keys/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read a key */
        get: operations["getApiKey"];
        put?: never;
        post?: never;
        /**
         * End a key, within a second everywhere
         * @description For its user, for itself and for administrators of the realm.
         */
        delete: operations["deleteApiKey"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/identities/companies": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List companies
         * @description Any other parameter is a field and its value: `?industry=Banking`, `?domain=bank.example`.
         */
        get: operations["listCompanies"];
        put?: never;
        /** Create a company */
        post: operations["createCompany"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/identities/companies/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Delete a company
         * @description For good: identities that had it have none.
         */
        delete: operations["deleteCompany"];
        options?: never;
        head?: never;
        /**
         * Change a company
         * @description Fields that are left out stay; null removes one; `domains` replaces all.
         */
        patch: operations["changeCompany"];
        trace?: never;
    };
    "/v1/identities/{id}/company": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read the company of an identity */
        get: operations["getCompany"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/identities/persons": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List persons
         * @description Any other parameter is a field and its value: `?lastName=Novak&city=Zagreb`, `?email=a@b.example`, `?tags=vip`, `?customAttributes.level=gold`.
         */
        get: operations["listPersons"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/identities/persons/sync": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the synchronisations of persons
         * @description The last 20, the latest first, with their state and what they did so far.
         */
        get: operations["listPersonsSyncs"];
        put?: never;
        /**
         * Synchronise persons with identities
         * @description Identities are given the person that names them, persons the name of their identity, and persons without an identity a new one. One runs at a time; `GET` shows it. Its report comes by e-mail to the caller's `channel.email`, and as the event `persons.sync.finished`.
         */
        post: operations["syncPersons"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/identities/person": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Create an identity with a person */
        post: operations["createPersonIdentity"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/identities/{id}/person": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read an identity with its person */
        get: operations["getPerson"];
        put?: never;
        /** Give an identity a new person */
        post: operations["createPerson"];
        /**
         * Forget the person of an identity
         * @description Its profile, its events and the messages to it are erased. The identity and its accounts stay.
         */
        delete: operations["deletePerson"];
        options?: never;
        head?: never;
        /**
         * Change the person of an identity
         * @description Fields that are left out stay; tags and ways to reach the person are added.
         */
        patch: operations["changePerson"];
        trace?: never;
    };
    "/v1/identities/{id}/person/{person}/assign": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        /**
         * Give an identity a person that exists
         * @description An identity that had the person loses it.
         */
        patch: operations["assignPerson"];
        trace?: never;
    };
    "/v1/identities/{id}/person/unassign": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        /**
         * Take the person of an identity away
         * @description The person stays, without an identity.
         */
        patch: operations["unassignPerson"];
        trace?: never;
    };
    "/v1/identities/{id}/person/event/{event}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Record a custom event of a person */
        post: operations["createPersonEvent"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/identities/{id}/person/export": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Export all data of a person
         * @description Its profile, its custom events and the messages to it, the latest first. Long lists come in parts: ask again with `events_before` or `messages_before`.
         */
        get: operations["getPersonExport"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/identities": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List page by page: each row is an identity */
        get: operations["listIdentities"];
        put?: never;
        /** Create an identity */
        post: operations["createIdentity"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/identities/all": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Find: each answer is an identity */
        get: operations["findIdentities"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/identities/count": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Count */
        get: operations["countIdentities"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/identities/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read an identity */
        get: operations["getIdentity"];
        put?: never;
        post?: never;
        /** Delete an identity; it can be restored */
        delete: operations["deleteIdentity"];
        options?: never;
        head?: never;
        /** Change an identity */
        patch: operations["updateIdentity"];
        trace?: never;
    };
    "/v1/identities/{id}/undelete": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Restore an identity */
        post: operations["undeleteIdentity"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/addresses/{address}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Tell whose an address is, and for what
         * @description In any form that its chain knows. An address that the caller may not see is not found.
         */
        get: operations["findAddress"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/accounts/{id}/address": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the addresses that deposits for an account can be sent to
         * @description Oldest first, at most 1000; `after` continues after the last one.
         */
        get: operations["listAddresses"];
        put?: never;
        /**
         * Make a new deposit account with an address of its own
         * @description On a ramp account, deposits stay on the ramp; on a virtual account, a deposit account of its ramp is made whose deposits go on to it.
         */
        post: operations["createAddress"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/accounts/{id}/assign": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the external addresses assigned to an account
         * @description Oldest first, at most 1000 from `offset`.
         */
        get: operations["listExternalAddresses"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/accounts/{id}/assign/{external_address}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Assign an external address: deposits that arrive there from now on show in the account
         * @description Value that arrives there is part of `balance.total` and of `balance.linked`, and never available. An address of the service's own, given out or to be given out in any realm, is refused like one that is linked already: the refusal reveals that it is taken, not its owner.
         */
        post: operations["assignExternalAddress"];
        /**
         * Take an external address from an account; its balance stays as it is
         * @description Answers with the remaining addresses: the oldest 1000.
         */
        delete: operations["unassignExternalAddress"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/deposits/rescan": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Search a transaction or a range of blocks again
         * @description For operators: finds transfers that the scanner could not see, such as coins that a contract paid inside a call. A known transfer changes nothing. A chain that waits for an operator (GET /v1/chains has the reason) is followed again from the range given. At most 20 rescans of a network run or wait for their first turn at once.
         */
        post: operations["rescanDeposits"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/deposits/rescans/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read what a rescan found
         * @description For operators. A rescan is kept for 90 days.
         */
        get: operations["getRescan"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/deposits/explain": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Tell why a payment was not credited, or what it was credited as
         * @description By the hash of its transaction, by its address, or by both; from the database alone: a rescan asks the nodes. It tells what the caller may see.
         */
        get: operations["explainDeposit"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/deposits/unmatched": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List deposits in an asset that their address does not accept
         * @description For operators. An unmatched deposit is neither credited nor swept. One of a contract that is set for the address's asset later becomes a deposit when rescanned.
         */
        get: operations["listUnmatchedDeposits"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/deposits/all": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Find: each answer is a deposit
         * @description As CSV (`format=csv`, or `accept: text/csv`) it is an export: all entities of a range of time of at most 400 days, oldest first. It takes `from` and `to`, and neither `limit`, `offset`, `sort` nor `populate`; `fields` are its columns. A user has two exports at once.
         */
        get: operations["findDeposits"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/deposits": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List page by page: each row is a deposit */
        get: operations["listDeposits"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/deposits/count": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Count */
        get: operations["countDeposits"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/deposits/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read a deposit */
        get: operations["getDeposit"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/apps/deposit": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Find deposit applications; with page or pageSize, page by page */
        get: operations["listDepositApplications"];
        put?: never;
        /** Make an address whose deposits go on to a virtual account */
        post: operations["createDepositApplication"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/apps/deposit/all": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Find: each answer is a deposit application */
        get: operations["findDepositApplications"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/apps/deposit/count": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Count */
        get: operations["countDepositApplications"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/apps/deposit/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read a deposit application with the ids of its latest deposits */
        get: operations["getDepositApplication"];
        put?: never;
        post?: never;
        /** Delete a deposit application; it can be restored */
        delete: operations["deleteDepositApplication"];
        options?: never;
        head?: never;
        /** Change a deposit application's data */
        patch: operations["updateDepositApplication"];
        trace?: never;
    };
    "/v1/apps/deposit/{id}/undelete": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Restore a deposit application */
        post: operations["undeleteDepositApplication"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/accounts": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List page by page: each row is an account */
        get: operations["listAccounts"];
        put?: never;
        /**
         * Create an account
         * @description Creation is asynchronous: the account is ready when `enabled` is true. `Prefer: wait=N` waits for that.
         */
        post: operations["createAccount"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/accounts/all": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Find: each answer is an account
         * @description As CSV (`format=csv`, or `accept: text/csv`) it is an export: all entities of a range of time of at most 400 days, oldest first. It takes `from` and `to`, and neither `limit`, `offset`, `sort` nor `populate`; `fields` are its columns. A user has two exports at once.
         */
        get: operations["findAccounts"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/accounts/count": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Count */
        get: operations["countAccounts"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/accounts/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read an account */
        get: operations["getAccount"];
        put?: never;
        post?: never;
        /** Delete an account; it can be restored */
        delete: operations["deleteAccount"];
        options?: never;
        head?: never;
        /** Change an account */
        patch: operations["updateAccount"];
        trace?: never;
    };
    "/v1/accounts/{id}/undelete": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Restore an account */
        post: operations["undeleteAccount"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/accounts/{id}/freeze": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Freeze an account: it receives and does not send */
        post: operations["freezeAccount"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/accounts/{id}/unfreeze": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Unfreeze an account */
        post: operations["unfreezeAccount"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/accounts/{id}/deactivate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Deactivate an empty account: it neither sends nor receives */
        post: operations["deactivateAccount"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/accounts/{id}/activate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Activate an account */
        post: operations["activateAccount"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/accounts/{id}/consolidate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Spend many small coins of a ramp into one, while fees are low
         * @description For ramps on chains that keep value in coins. Takes the smallest settled coins that are worth more than spending them costs, as many as one transaction holds: 1000, or 641 on Bitcoin Cash and Dogecoin. Above `max_fee` or `max_fee_rate` it is refused with `condition.failed`; a worker checks both again before anything is signed. Until it is in a block its coins pay nothing else. One at a time; `version.conflict` while another is open. The chain's fee is borne by the account `fees`; a user without write permission for the realm pays it out of the ramp's account (`balance.insufficient`).
         */
        post: operations["consolidateAccount"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/accounts/{id}/consolidations": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the consolidations of a ramp */
        get: operations["listConsolidations"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/accounts/{id}/consolidations/{consolidation}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read a consolidation */
        get: operations["getConsolidation"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/accounts/{id}/consolidations/{consolidation}/speed-up": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Speed up a consolidation
         * @description Replaces the sent transaction by one that spends the same coins at a higher price, within its ceilings or within those given here. Where the ramp's account was charged for it, the additional budget is charged too. Bitcoin Cash and Dogecoin replace nothing.
         */
        post: operations["speedUpConsolidation"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/accounts/{id}/orders": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the open orders of a ramp: what it has to send, or waits to see mined
         * @description For administrators of the realm, by id, oldest first. Withdrawals that a batch pays are listed as their batch.
         */
        get: operations["listRampOrders"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/assets": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List every asset */
        get: operations["listAssets"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/chains": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the configured chains with their scanning state */
        get: operations["listChains"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/chains/history": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read how far a chain was scanned over time
         * @description The last sample until each of up to 500 evenly spaced moments. Workers take one a minute; they are kept for 30 days, one of each hour for two years.
         */
        get: operations["getChainHistory"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/accounts/{id}/entries": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the entries of an account
         * @description Oldest first, or newest first with `sort=-created_at`; `from` and `to` are milliseconds since the epoch, both included. `after` follows entries while they arrive. As CSV it is an export, oldest first, of at most 400 days: it takes `from` and `to`, and no page.
         */
        get: operations["listAccountEntries"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/accounts/{id}/balance": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read the balance of an account as it stood at a time
         * @description It never changes afterwards. Of a time to come it is the present one, and `at` is the present.
         */
        get: operations["getAccountBalance"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/accounts/{id}/balances": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read the balance of an account over time
         * @description At up to 500 moments, evenly spaced from `from` to `to`. None of these balances ever changes afterwards. What is asked of the future ends with the present.
         */
        get: operations["getBalance"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/accounts/{id}/statement": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read a statement of an account, as JSON or CSV
         * @description `from` and `to` are milliseconds since the epoch, both included. A user has 100 statements at once.
         */
        get: operations["getAccountStatement"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/accounts/{id}/blocks": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the blocks of an account */
        get: operations["listBlocks"];
        put?: never;
        /**
         * Block a part of the available value
         * @description The value stays in the account and cannot be sent until the block is closed.
         */
        post: operations["createBlock"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/accounts/{id}/blocks/{block}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read a block */
        get: operations["getBlock"];
        put?: never;
        post?: never;
        /** Release a block */
        delete: operations["releaseBlock"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/accounts/{id}/blocks/{block}/capture": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Turn a block, or a part of it, into a transaction
         * @description The rest of the block becomes available again. Answers with the transaction.
         */
        post: operations["captureBlock"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/aliases": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List page by page: each row is an alias */
        get: operations["listAliases"];
        put?: never;
        /** Give an account or an identity an alias */
        post: operations["createAlias"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/aliases/all": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Find: each answer is an alias */
        get: operations["findAliases"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/aliases/count": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Count */
        get: operations["countAliases"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/aliases/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read an alias */
        get: operations["getAlias"];
        put?: never;
        post?: never;
        /** Delete an alias; it can be restored */
        delete: operations["deleteAlias"];
        options?: never;
        head?: never;
        /** Change an alias's data */
        patch: operations["updateAlias"];
        trace?: never;
    };
    "/v1/aliases/{id}/undelete": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Restore an alias */
        post: operations["undeleteAlias"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/currencies": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List page by page: each row is a virtual currency */
        get: operations["listCurrencies"];
        put?: never;
        /**
         * Create a virtual currency
         * @description Makes an account that holds the initial supply, owned by the caller.
         */
        post: operations["createCurrency"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/currencies/all": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Find: each answer is a virtual currency */
        get: operations["findCurrencies"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/currencies/count": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Count */
        get: operations["countCurrencies"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/currencies/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read a virtual currency */
        get: operations["getCurrency"];
        put?: never;
        post?: never;
        /** Delete a virtual currency; it can be restored */
        delete: operations["deleteCurrency"];
        options?: never;
        head?: never;
        /** Change a virtual currency */
        patch: operations["updateCurrency"];
        trace?: never;
    };
    "/v1/currencies/{id}/undelete": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Restore a virtual currency */
        post: operations["undeleteCurrency"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/currencies/{id}/issue": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Issue more of a virtual currency
         * @description Into the account given, or the currency's own.
         */
        post: operations["issueCurrency"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/currencies/{id}/destroy": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Destroy a part of a virtual currency
         * @description Out of the account given, or the currency's own; it must be available there.
         */
        post: operations["destroyCurrency"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/rates": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read rates
         * @description All of them, those of a base, those into a currency, or the one of a pair. With the platform key: those of the installation.
         */
        get: operations["listRates"];
        /**
         * Set a rate
         * @description For an administrator's realm; with the platform key, for all realms.
         */
        put: operations["setRate"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/transactions/head": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read the head of the chain of hashes
         * @description Kept elsewhere, it proves later that nothing before it was changed.
         */
        get: operations["getChainHead"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/transactions/verify": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Recompute the chain of hashes
         * @description `from` and `to` are numbers in the chain, both included. At most 100 000 are recomputed at once; `next` is the number to continue from.
         */
        get: operations["verifyChain"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/transactions/chain": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read transactions and events in the order of the chain
         * @description For auditors who recompute it themselves: `after` is a number in the chain, 0 for the beginning; `limit` is at most 1000, and a page at most 8 MiB. Only at the end of the chain is a page empty.
         */
        get: operations["listChainLinks"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/transactions/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read a transaction */
        get: operations["getTransaction"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        /**
         * Replace the data beside a transaction
         * @description Nothing else of a transaction ever changes.
         */
        patch: operations["updateTransaction"];
        trace?: never;
    };
    "/v1/transactions/{id}/revert": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Revert a transaction, once
         * @description Posts a counter-move under the same rules of balance.
         */
        post: operations["revertTransaction"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/transactions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List page by page: each row is a transaction */
        get: operations["listTransactions"];
        put?: never;
        /**
         * Move value between two accounts
         * @description Instant and without a fee. Amounts are exact decimals.
         */
        post: operations["createTransaction"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/transactions/batch": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Move value many times in one request
         * @description With atomic, all or none (201, or a problem that names the index of the first refused item). Without, each by itself (200, with a transaction or a problem for each). One idempotency key stands for the whole request. At most 8 MiB, each item at most 1 MiB, with 600 000 members of objects and lists, 400 000 of them named, and 100 000 numbers that are no whole numbers. A process handles two requests beyond 1 MiB of a realm at once, while ten wait; of one user it takes eight.
         */
        post: operations["createTransactionBatch"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/transactions/all": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Find: each answer is a transaction
         * @description As CSV (`format=csv`, or `accept: text/csv`) it is an export: all entities of a range of time of at most 400 days, oldest first. It takes `from` and `to`, and neither `limit`, `offset`, `sort` nor `populate`; `fields` are its columns. A user has two exports at once.
         */
        get: operations["findTransactions"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/transactions/count": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Count */
        get: operations["countTransactions"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/withdrawals/estimate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Estimate the fee of a withdrawal
         * @description The values are taken from the query, from a JSON body, or from both. Clients that cannot send a body with GET use the query, or POST.
         */
        get: operations["getWithdrawalEstimate"];
        put?: never;
        /** Estimate the fee of a withdrawal */
        post: operations["estimateWithdrawal"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/withdrawals": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List page by page: each row is a withdrawal */
        get: operations["listWithdrawals"];
        put?: never;
        /**
         * Withdraw to an address on the asset's chain
         * @description Value and fee leave the account at once; a worker sends them. `status` shows its end; if it failed, both are given back.
         */
        post: operations["createWithdrawal"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/withdrawals/all": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Find: each answer is a withdrawal
         * @description As CSV (`format=csv`, or `accept: text/csv`) it is an export: all entities of a range of time of at most 400 days, oldest first. It takes `from` and `to`, and neither `limit`, `offset`, `sort` nor `populate`; `fields` are its columns. A user has two exports at once.
         */
        get: operations["findWithdrawals"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/withdrawals/count": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Count */
        get: operations["countWithdrawals"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/withdrawals/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read a withdrawal */
        get: operations["getWithdrawal"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        /** Change the free-form part of a withdrawal */
        patch: operations["updateWithdrawal"];
        trace?: never;
    };
    "/v1/withdrawals/{id}/speed-up": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Speed up a withdrawal
         * @description Replaces the sent transaction: the same nonce, or the same coins, at a higher price. The additional cost at the newest prices is charged. Once a block at most. `speed_up` has the old and the new price. Bitcoin Cash and Dogecoin replace nothing that was sent, nor do Solana and Tron: `withdrawal.not_cancelable`.
         */
        post: operations["speedUpWithdrawal"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/withdrawals/{id}/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Cancel a withdrawal that was not sent yet
         * @description Of those that are signed already only a few may be canceled in a day.
         */
        post: operations["cancelWithdrawal"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/fungible/token/deploy": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Deploy a token
         * @description The answer has the transaction's hash if it was sent within 10 s; else it is empty and shown later. A user without write permission for the realm pays the chain's fee out of the ramp's account, and gets the unused part back.
         */
        post: operations["deployToken"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/fungible/token/register": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Register a token as a virtual currency
         * @description One that was deployed here is found by its symbol. A third party's token is named by its contract, and checked first.
         */
        post: operations["registerToken"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/fungible/token/all": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Find: each answer is a fungible token */
        get: operations["findTokens"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/fungible/token": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List page by page: each row is a fungible token */
        get: operations["listTokens"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/fungible/token/count": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Count */
        get: operations["countTokens"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/fungible/token/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read a fungible token */
        get: operations["getToken"];
        put?: never;
        post?: never;
        /** Delete a fungible token; it can be restored */
        delete: operations["deleteToken"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/fungible/token/{id}/undelete": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Restore a fungible token */
        post: operations["undeleteToken"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/ramps": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List page by page: each row is an external ramp */
        get: operations["listRamps"];
        put?: never;
        /**
         * Give an identity authentication data at an exchange
         * @description They are encrypted at once, for workers alone, and never shown again. A worker asks the exchange whether it accepts them: `status`.
         */
        post: operations["createRamp"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/ramps/supported": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the exchanges that are supported */
        get: operations["listSupportedRamps"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/ramps/all": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Find: each answer is an external ramp */
        get: operations["findRamps"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/ramps/count": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Count */
        get: operations["countRamps"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/ramps/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read an external ramp */
        get: operations["getRamp"];
        put?: never;
        post?: never;
        /** Delete an external ramp; it can be restored */
        delete: operations["deleteRamp"];
        options?: never;
        head?: never;
        /**
         * Change an external ramp's data, or replace its authentication data
         * @description With `authentication` this takes a login of the last ten minutes, and no machine key: it decides where later withdrawals go.
         */
        patch: operations["updateRamp"];
        trace?: never;
    };
    "/v1/ramps/{id}/undelete": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Restore an external ramp */
        post: operations["undeleteRamp"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/ramps/{id}/countries": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the countries of an exchange, by its id or an external ramp's */
        get: operations["listRampCountries"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/ramps/{id}/assets": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the assets that the exchange moves
         * @description As a worker last read them. 502 `upstream.failed` with the exchange's reason where it refuses the key.
         */
        get: operations["listRampAssets"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/ramps/{id}/deposit": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Have an exchange pay to an account
         * @description The exchange is asked once to pay to the account's address. `DONE` when the chain has brought it and it is credited as a deposit.
         */
        post: operations["depositFromRamp"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/ramps/{id}/withdraw": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Withdraw from an account to an exchange
         * @description The value is blocked at once. A worker asks the exchange for its address, checks it, and makes the withdrawal. `DONE` when the exchange has credited it.
         */
        post: operations["withdrawToRamp"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/ramps/{id}/transfers": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the transfers of an external ramp */
        get: operations["listRampTransfers"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/ramps/{id}/transfers/{transfer}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read a transfer */
        get: operations["getRampTransfer"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/ramps/{id}/transfers/{transfer}/resolve": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Say what became of a transfer that is unclear
         * @description For a person who has looked at the exchange.
         */
        post: operations["resolveRampTransfer"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/search": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Find entities by an id, a name or an exact key
         * @description Finds what the caller may see: users, identities and aliases by the beginning of their names, others by whole keys. A part from the middle of a name finds nothing. Exact matches come first.
         */
        get: operations["findEntities"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/solvency": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Compare the balances on the chains with the ledger's liabilities
         * @description As workers last saw it, for administrators. While something is missing, the asset's withdrawals are stopped.
         */
        get: operations["getSolvency"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/solvency/history": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read how chain and ledger compared over time
         * @description For administrators: the last comparison until each of up to 500 evenly spaced moments. Workers compare once a minute; comparisons are kept for 30 days, one of each hour for two years. Ask for a shorter range to see each comparison.
         */
        get: operations["getSolvencyHistory"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/solvency/cover": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Cover a loss of the house from an account of the house
         * @description Moves value of a ramp or virtual account to the account `fees`, at most the sum by which that is below zero. For administrators of the realm, and for the operator, who names the realm. Owner and holder of the account are users with role manage or admin and scope realm: value of customers covers nothing. It is not reverted.
         */
        post: operations["createCover"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/solvency/write-off": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Write off what is missing on the chain, as a loss of the house
         * @description Moves value from the account `fees` to `world`, at most what was missing in every comparison of the last hour and is not written off yet. The drift ends with the next comparison, and the loss is covered by `POST /v1/solvency/cover`. For administrators of the realm with a login of the last ten minutes, and for the operator, who names the realm. It is not reverted.
         */
        post: operations["createWriteOff"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/stats/flows": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read how much came in, went out and moved, by the hour or the day
         * @description For administrators: counts, amounts and fiat values of transactions by asset and type. They are sums that are kept beside the hash chain, by the ledger's time; `complete_to` and `unsealed` tell what they lack. A withdrawal out of a virtual account is two transactions: `inside` to its ramp, and `out` when it is paid.
         */
        get: operations["getFlows"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/stats/withdrawals": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read how many withdrawals there are by status, and how long their steps take
         * @description For administrators: of the withdrawals that were created in a range. Of more than 20000 the newest 20000 are read, and `complete` is false.
         */
        get: operations["getWithdrawalStatistics"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/stats/deposits": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read how many deposits there are by status, and how long their steps take
         * @description For administrators: of the deposits that were first seen in a range. Of more than 20000 the newest 20000 are read, and `complete` is false.
         */
        get: operations["getDepositStatistics"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/stops": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List page by page: each row is a stop */
        get: operations["listStops"];
        put?: never;
        /**
         * Stop moves, or signing, at once
         * @description For users with role manage or admin and scope realm, and for the operator. `moves` refuses every posting that users ask for with `stop.active`; `signing` keeps workers from signing anything that is not signed yet. Fields beside narrow it; without them it holds for the realm. Deposits are credited all the while, and signed bytes go on being sent.
         */
        post: operations["createStop"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/stops/all": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Find: each answer is a stop */
        get: operations["findStops"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/stops/count": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Count */
        get: operations["countStops"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/stops/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read a stop */
        get: operations["getStop"];
        put?: never;
        post?: never;
        /**
         * Lift a stop
         * @description For administrators of the realm with a login of the last 10 minutes, and for the operator. One that a restored realm began with the operator alone lifts. The record stays.
         */
        delete: operations["liftStop"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/jobs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the jobs of workers: dead ones, late ones, running ones
         * @description For administrators of the realm, by id, oldest first. A job is dead after its last attempt. Of jobs that are ready, late or running, the thousand that are due longest are listed.
         */
        get: operations["listJobs"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/jobs/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read a job
         * @description For administrators of the realm. Jobs that are done are kept for 7 days, dead and discarded ones for 90.
         */
        get: operations["getJob"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/jobs/{id}/retry": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Retry a dead job now
         * @description For administrators of the realm. It is due at once, with as many attempts as a new job. One that waits or runs is a worker's: `version.conflict`.
         */
        post: operations["retryJob"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/jobs/{id}/discard": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Discard a dead job, with a reason
         * @description For administrators of the realm. Only jobs that are asked for again or repeat by themselves: `exchange.check`, `message.send`, `persons.sync`. Value waits for all others, such as payments to be sent and deposits to be credited or swept: `condition.failed`.
         */
        post: operations["discardJob"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/notes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the notes about an entity
         * @description For users with role manage or admin and scope realm. The latest first.
         */
        get: operations["listNotes"];
        put?: never;
        /**
         * Add a note about an entity
         * @description For users with role manage or admin and scope realm, who alone see notes. A note is never changed or deleted; forgetting a person erases the texts of the notes about it.
         */
        post: operations["createNote"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/webhooks": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List page by page: each row is a webhook */
        get: operations["listWebhooks"];
        put?: never;
        /**
         * Create a webhook
         * @description It receives the events that its owner may see. `secret` is shown this once; receivers check signatures with it (Standard Webhooks). This takes a login of the last 10 minutes: a webhook outlives the key that makes it.
         */
        post: operations["createWebhook"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/webhooks/all": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Find: each answer is a webhook */
        get: operations["findWebhooks"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/webhooks/count": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Count */
        get: operations["countWebhooks"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/webhooks/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read a webhook */
        get: operations["getWebhook"];
        put?: never;
        post?: never;
        /** Delete a webhook; it can be restored */
        delete: operations["deleteWebhook"];
        options?: never;
        head?: never;
        /**
         * Change a webhook
         * @description Another address, other events, or `active`: one that the service deactivated is activated again so. All of these take a login of the last 10 minutes; to deactivate it takes none.
         */
        patch: operations["updateWebhook"];
        trace?: never;
    };
    "/v1/webhooks/{id}/undelete": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Restore a webhook
         * @description This takes a login of the last 10 minutes.
         */
        post: operations["undeleteWebhook"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/webhooks/{id}/rotate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Give a webhook a new secret
         * @description Shown this once. For some hours deliveries carry a signature by the secret before, too. This takes a login of the last 10 minutes.
         */
        post: operations["rotateWebhookSecret"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/webhooks/{id}/test": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Send a test to a webhook
         * @description An event `webhook.test`, whatever it listens to; its fate is in the deliveries. While one waits there is no second one.
         */
        post: operations["testWebhook"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/webhooks/{id}/deliveries": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the deliveries of a webhook
         * @description The newest first, with the latest attempt of each and its answer.
         */
        get: operations["listDeliveries"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/webhooks/{id}/deliveries/resend": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Send the failed deliveries of a span again
         * @description Those of events from `from` to `to`, a thousand at most: the answer tells how many, and it is asked again until there are none.
         */
        post: operations["resendDeliveries"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/webhooks/{id}/deliveries/{delivery}/resend": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Send a delivery again
         * @description With the same `webhook-id`, from the first attempt on.
         */
        post: operations["resendDelivery"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Stream events as they happen
         * @description Server-sent events that the caller may see, in the order of their ids: `data` of each is an event as the list shows it. The header `last-event-id` goes on after an event; without it only what is new is sent. A stream ends when its key does.
         */
        get: operations["streamEvents"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/events/all": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List events after one of them
         * @description In the order of their ids: no id is ever followed later by a smaller one. Events are kept for the realm's `webhooks.retention_days` (30), from the first reading on.
         */
        get: operations["findEvents"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/openapi.json": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read this description of the API */
        get: operations["getOpenapi"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Lead a browser to the interactive reference */
        get: operations["openReference"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/docs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The interactive reference */
        get: operations["getReference"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/docs/assets/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** An asset of the reference */
        get: operations["getReferenceAsset"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/problems/{code}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Explain a problem */
        get: operations["getProblem"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/docs/guide": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The contents of the guides */
        get: operations["getGuides"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/docs/{section}/{page}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** A page of the guides */
        get: operations["getGuide"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/health/live": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Check that the process runs */
        get: operations["checkLiveness"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/health/ready": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Check whether the process can serve */
        get: operations["checkReadiness"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/metrics": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read the metrics of this process and of all realms
         * @description In Prometheus' text format. Callers of METRICS_NETWORKS need no key (this machine, while no public address is set); others send the platform key. With it each realm is a label of its own.
         */
        get: operations["getMetrics"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export interface webhooks {
    "account.enabled": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** An account is ready */
        post: operations["onAccountEnabled"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "transaction.created": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** A transaction was posted */
        post: operations["onTransactionCreated"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "deposit.pending": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** A deposit was seen on its chain */
        post: operations["onDepositPending"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "deposit.confirmed": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** A deposit was credited */
        post: operations["onDepositConfirmed"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "deposit.orphaned": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** A deposit is no longer on its chain */
        post: operations["onDepositOrphaned"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "deposit.forwarded": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** A deposit was swept to its ramp */
        post: operations["onDepositForwarded"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "app.deposit.updated": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** A deposit application changed */
        post: operations["onAppDepositUpdated"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "withdrawal.updated": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** A withdrawal was created or changed */
        post: operations["onWithdrawalUpdated"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "withdrawal.stuck": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** A withdrawal is in no block two hours after its creation */
        post: operations["onWithdrawalStuck"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "token.deployed": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** A token was deployed */
        post: operations["onTokenDeployed"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "message.updated": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** A message was sent, or its status changed */
        post: operations["onMessageUpdated"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "persons.sync.finished": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** A synchronization of persons ended */
        post: operations["onPersonsSyncFinished"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "solvency.drift": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Chain and ledger disagree about an asset, or agree again. What stays missing is written off (POST /v1/solvency/write-off) */
        post: operations["onSolvencyDrift"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "chain.quarantined": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** A ramp is in quarantine until it is reconciled */
        post: operations["onChainQuarantined"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "chain.halted": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** The scanning of a chain halted until an operator acts */
        post: operations["onChainHalted"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "chain.lagging": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** A chain was not read for ten minutes, or many of its blocks are unread */
        post: operations["onChainLagging"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "ramp.cost_limited": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** The network has cost a ramp as much as a day may */
        post: operations["onRampCostLimited"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "ramp.gas_insufficient": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** A sweep waits until a ramp's account covers its gas */
        post: operations["onRampGasInsufficient"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "address.paused": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** More deposits arrived at a linked address than a day records: it is watched no more */
        post: operations["onAddressPaused"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "ramp.transfer.updated": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** A transfer with an exchange was ordered, or its status changed */
        post: operations["onRampTransferUpdated"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "stop.set": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** A stop was set */
        post: operations["onStopSet"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "stop.lifted": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** A stop was lifted */
        post: operations["onStopLifted"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "coin.corrected": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** A coin of a ramp was taken out of its holdings, or put back */
        post: operations["onCoinCorrected"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "job.dead": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** The last attempt of a job failed */
        post: operations["onJobDead"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "webhook.disabled": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** The service deactivated a webhook */
        post: operations["onWebhookDisabled"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "webhook.test": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** A test of a webhook */
        post: operations["onWebhookTest"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export interface components {
    schemas: {
        AdminLogin: {
            realm_key: string;
            email?: string;
            username?: string;
            password: string;
            /** @description Of the authenticator, or a recovery code; for users with one-time passwords. */
            code?: string;
        };
        Session: {
            "x-api-key": string;
            expires_at: number;
        };
        UserLogin: {
            realm_key: string;
            username: string;
            password: string;
            /** @description Of the authenticator, or a recovery code; for users with one-time passwords. */
            code?: string;
        };
        Me: {
            id: string;
            username: string;
            /** @description An opaque digest: neither is nor reveals the verifier. */
            password: string;
            identity: string;
            /** @example realm,own */
            scopes: string;
            /** @example admin,manage,user */
            roles: string;
            channel: {
                [key: string]: unknown;
            };
            active: boolean;
            owner: string | null;
            created_at: number;
            data: {
                [key: string]: unknown;
            };
            error: components["schemas"]["Failure"];
            updated_at?: number;
            deleted?: boolean;
            deleted_at?: number;
            realm: string;
            /** @description The machine key in use, with the rights that it has now: those of its user at most. Null for a login. */
            key: {
                id: string;
                name: string;
                roles: string;
                scopes: string;
            } | null;
        };
        /** @description Why it failed later; null where it did not. */
        Failure: ({
            code: string;
            detail?: string;
        } & {
            [key: string]: unknown;
        }) | null;
        NewRealm: {
            name: string;
            /** @default US */
            country?: components["schemas"]["Country"];
            /** @default USD */
            accounting_currency?: components["schemas"]["AccountingCurrency"];
            /**
             * @default US
             * @enum {string}
             */
            zone?: "US" | "EU";
            /**
             * @description free, basic, pro, unlimited, or another that the operator has defined.
             * @default unlimited
             * @example unlimited
             */
            tier?: string;
            /**
             * Format: uri
             * @description A PostgreSQL 15 or newer of the realm's own, on a server that the operator lets the service reach. On another machine sslmode must be said. Without it the realm is made in the database that the operator has set for its zone, else in the platform's.
             */
            database_url?: string;
            admin: {
                /** Format: email */
                email: string;
                username?: string;
                password: components["schemas"]["Password"];
            };
        };
        /**
         * @description ISO 3166-1 alpha-2.
         * @example US
         * @enum {string}
         */
        Country: "AF" | "AX" | "AL" | "DZ" | "AS" | "AD" | "AO" | "AI" | "AQ" | "AG" | "AR" | "AM" | "AW" | "AU" | "AT" | "AZ" | "BH" | "BS" | "BD" | "BB" | "BY" | "BE" | "BZ" | "BJ" | "BM" | "BT" | "BO" | "BQ" | "BA" | "BW" | "BV" | "BR" | "IO" | "BN" | "BG" | "BF" | "BI" | "KH" | "CM" | "CA" | "CV" | "KY" | "CF" | "TD" | "CL" | "CN" | "CX" | "CC" | "CO" | "KM" | "CG" | "CD" | "CK" | "CR" | "CI" | "HR" | "CU" | "CW" | "CY" | "CZ" | "DK" | "DJ" | "DM" | "DO" | "EC" | "EG" | "SV" | "GQ" | "ER" | "EE" | "ET" | "FK" | "FO" | "FJ" | "FI" | "FR" | "GF" | "PF" | "TF" | "GA" | "GM" | "GE" | "DE" | "GH" | "GI" | "GR" | "GL" | "GD" | "GP" | "GU" | "GT" | "GG" | "GN" | "GW" | "GY" | "HT" | "HM" | "VA" | "HN" | "HK" | "HU" | "IS" | "IN" | "ID" | "IR" | "IQ" | "IE" | "IM" | "IL" | "IT" | "JM" | "JP" | "JE" | "JO" | "KZ" | "KE" | "KI" | "KP" | "KR" | "KW" | "KG" | "LA" | "LV" | "LB" | "LS" | "LR" | "LY" | "LI" | "LT" | "LU" | "MO" | "MK" | "MG" | "MW" | "MY" | "MV" | "ML" | "MT" | "MH" | "MQ" | "MR" | "MU" | "YT" | "MX" | "FM" | "MD" | "MC" | "MN" | "ME" | "MS" | "MA" | "MZ" | "MM" | "NA" | "NR" | "NP" | "NL" | "NC" | "NZ" | "NI" | "NE" | "NG" | "NU" | "NF" | "MP" | "NO" | "OM" | "PK" | "PW" | "PS" | "PA" | "PG" | "PY" | "PE" | "PH" | "PN" | "PL" | "PT" | "PR" | "QA" | "RE" | "RO" | "RU" | "RW" | "BL" | "SH" | "KN" | "LC" | "MF" | "PM" | "VC" | "WS" | "SM" | "ST" | "SA" | "SN" | "RS" | "SC" | "SL" | "SG" | "SX" | "SK" | "SI" | "SB" | "SO" | "ZA" | "GS" | "SS" | "ES" | "LK" | "SD" | "SR" | "SJ" | "SZ" | "SE" | "CH" | "SY" | "TW" | "TJ" | "TZ" | "TH" | "TL" | "TG" | "TK" | "TO" | "TT" | "TN" | "TR" | "TM" | "TC" | "TV" | "UG" | "UA" | "AE" | "GB" | "US" | "UM" | "UY" | "UZ" | "VU" | "VE" | "VN" | "VG" | "VI" | "WF" | "EH" | "YE" | "ZM" | "ZW";
        /**
         * @description An accounting currency.
         * @example EUR
         * @enum {string}
         */
        AccountingCurrency: "AED" | "AFN" | "ALL" | "AMD" | "ANG" | "AOA" | "ARS" | "AUD" | "AWG" | "AZN" | "BAM" | "BAT" | "BBD" | "BCH" | "BDT" | "BGN" | "BHD" | "BIF" | "BMD" | "BND" | "BOB" | "BRL" | "BSD" | "BTC" | "BTN" | "BWP" | "BYN" | "BYR" | "BZD" | "CAD" | "CDF" | "CHF" | "CLF" | "CLP" | "CNY" | "COP" | "CRC" | "CUC" | "CUP" | "CVE" | "CZK" | "DJF" | "DKK" | "DOP" | "DOGE" | "DZD" | "EGP" | "ERN" | "ETB" | "ETH" | "EUR" | "FJD" | "FKP" | "FLOW" | "FUSD" | "FREE" | "GMC" | "GMC_BSC" | "RMD" | "GBP" | "GEL" | "GGP" | "GHS" | "GIP" | "GMD" | "GNF" | "GTQ" | "GYD" | "HKD" | "HNL" | "HRK" | "HTG" | "HUF" | "IDR" | "ILS" | "IMP" | "INR" | "IQD" | "IRR" | "ISK" | "JEP" | "JMD" | "JOD" | "JPY" | "KES" | "KGS" | "KHR" | "KMF" | "KPW" | "KRW" | "KWD" | "KYD" | "KZT" | "LAK" | "LBP" | "LEO" | "LINK" | "LKR" | "LRD" | "LSL" | "LTC" | "LTL" | "LVL" | "LYD" | "MAD" | "MDL" | "MGA" | "MKD" | "MKR" | "MMK" | "MMY" | "MNT" | "MOP" | "MRO" | "MUR" | "MVR" | "MWK" | "MXN" | "MYR" | "MZN" | "NAD" | "NGN" | "NIO" | "NOK" | "NPR" | "NZD" | "OMR" | "PAB" | "PAX" | "PAXG" | "PEN" | "PGK" | "PHP" | "PKR" | "PLN" | "PYG" | "QAR" | "RON" | "RSD" | "RUB" | "RWF" | "SAR" | "SBD" | "SCR" | "SDG" | "SEK" | "SGD" | "SHP" | "SLL" | "SOS" | "SRD" | "STD" | "SVC" | "SYP" | "SZL" | "THB" | "TJS" | "TMT" | "TND" | "TOP" | "TRY" | "TTD" | "TRON" | "TUSD" | "BUSD" | "TWD" | "TZS" | "UAH" | "UGX" | "UNI" | "USD" | "USDC" | "USDT" | "USDT_TRON" | "INRT_TRON" | "USDT_MATIC" | "UYU" | "UZS" | "VEF" | "VND" | "VUV" | "WBTC" | "WST" | "XAF" | "XAG" | "XAU" | "XCD" | "XCON" | "XDR" | "XLM" | "XOF" | "XPF" | "XRP" | "YER" | "ZAR" | "ZMK" | "ZMW" | "ZWL";
        /**
         * @description At least 10 characters.
         * @example correct horse battery
         */
        Password: string;
        RealmWithKeys: {
            id: string;
            name: string;
            zone: string;
            country: string;
            accounting_currency: string;
            tier: string;
            webhooks: {
                [key: string]: unknown;
            };
            chains: {
                [key: string]: unknown;
            };
            messages: {
                [key: string]: unknown;
            };
            withdrawals: {
                [key: string]: unknown;
            };
            updated_at?: number;
            created_at: number;
            error: components["schemas"]["Failure"];
            /** Format: uuid */
            realm_key: string;
            /** @description The application key. */
            "x-api-key": string;
            admin: components["schemas"]["User"];
        };
        User: {
            id: string;
            username: string;
            /** @description An opaque digest: neither is nor reveals the verifier. */
            password: string;
            identity: string;
            /** @example realm,own */
            scopes: string;
            /** @example admin,manage,user */
            roles: string;
            channel: {
                [key: string]: unknown;
            };
            active: boolean;
            owner: string | null;
            created_at: number;
            data: {
                [key: string]: unknown;
            };
            error: components["schemas"]["Failure"];
            updated_at?: number;
            deleted?: boolean;
            deleted_at?: number;
        };
        Realm: {
            id: string;
            name: string;
            zone: string;
            country: string;
            accounting_currency: string;
            tier: string;
            webhooks: {
                [key: string]: unknown;
            };
            chains: {
                [key: string]: unknown;
            };
            messages: {
                [key: string]: unknown;
            };
            withdrawals: {
                [key: string]: unknown;
            };
            updated_at?: number;
            created_at: number;
            error: components["schemas"]["Failure"];
            /** Format: uuid */
            realm_key?: string;
            /** Format: uuid */
            previous_realm_key?: string;
        };
        RealmChange: {
            name?: string;
            country?: components["schemas"]["Country"];
            accounting_currency?: components["schemas"]["AccountingCurrency"];
            /**
             * @description free, basic, pro, unlimited, or another that the operator has defined.
             * @example unlimited
             */
            tier?: string;
            webhooks?: components["schemas"]["EventSettings"];
            chains?: components["schemas"]["RealmChainSettings"];
            messages?: components["schemas"]["RealmMessageSettings"];
            withdrawals?: components["schemas"]["WithdrawalSettings"];
        };
        /** @description `retention_days`: how long events are kept, from 1 to 365 days; 30 unless given. */
        EventSettings: components["schemas"]["FreeForm"];
        /** @description A free-form object of at most 64 KiB. */
        FreeForm: {
            [key: string]: unknown;
        };
        /** @description `linked_deposits_per_day`: deposits that are recorded in 24 hours at the linked addresses of one account, from 1 to 100000; 1000 unless given. Beyond it, the address is no longer watched (`address.paused`). `unused_addresses`: ramps and deposit addresses without a credited deposit that one customer (a user of scope `own`, with all users that it made) has at most, from 0 to 100000; 1000 unless given. `linked_addresses`: addresses that one customer has linked at a time at most, from 0 to 100000; 1000 unless given. */
        RealmChainSettings: components["schemas"]["FreeForm"];
        /** @description `customer_per_day`: messages that one customer (a user of scope `own`, with all users that it made) sends in 24 hours, from 0 to 1000000; 200 unless given. */
        RealmMessageSettings: components["schemas"]["FreeForm"];
        WithdrawalSettings: {
            [key: string]: {
                /** @description The least that may be withdrawn while the fee cannot be converted. */
                least?: components["schemas"]["Amount"];
                /** @description The fee that is charged while it cannot be converted. */
                fee?: components["schemas"]["Amount"];
                /** @description The least that gas is sent ahead for to a deposit address, while its worth is not known. */
                sweep_min?: components["schemas"]["Amount"];
                /** @description Of the coin that pays fees: the most that the network may cost a ramp in a day (UTC). */
                daily_cost?: components["schemas"]["Amount"];
                /** @description On the main network: the most that the house may lose in fees before withdrawals stop. Unless set, a hundredth of the liabilities, or the cost of a hundred payments, whichever is more. */
                loss_max?: components["schemas"]["AmountOrZero"];
                /** @description The same, on the test network. */
                testnet_loss_max?: components["schemas"]["AmountOrZero"];
            };
        };
        /**
         * @description An exact decimal.
         * @example 0.5
         */
        Amount: string;
        /**
         * @description An exact decimal.
         * @example 1000
         */
        AmountOrZero: string;
        NewApplicationKey: {
            id: string;
            created_at: number;
            revoked_at?: number;
            "x-api-key": string;
        };
        ApplicationKey: {
            id: string;
            created_at: number;
            revoked_at?: number;
        };
        NewUser: {
            username: string;
            password: components["schemas"]["Password"];
            /**
             * @description Comma-separated: own, realm.
             * @example own
             */
            scopes?: string;
            /**
             * @description Comma-separated: user, manage, admin.
             * @example user
             */
            roles?: string;
            identity?: components["schemas"]["Id"];
            /** @default {} */
            channel?: components["schemas"]["Channel"];
            /** @default {} */
            data?: components["schemas"]["FreeForm"];
        };
        /**
         * @description An opaque identifier.
         * @example 01a1fb9d-f797-7000-8000-f205583ab8e1
         */
        Id: string;
        Channel: {
            phone?: string;
            sms?: string;
            whatsapp?: string;
            /** Format: email */
            email?: string;
        };
        AuditLine: {
            id: string;
            /** @description The user; null for the operator, for the service itself and for failed logins. */
            actor: string | null;
            action: string;
            entity: string | null;
            /** @description Names of the fields of the request, defaults included; never their values. */
            fields: string[] | null;
            request_id: string | null;
            /** @description Network address the request came from. */
            address: string | null;
            /** @description The key of a machine that acted as the user; null for a login. */
            key: {
                id: string;
                name: string;
            } | null;
            created_at: number;
        };
        DeliveryReports: {
            results: ({
                messageId?: string;
                callbackData?: string;
                status?: unknown;
                error?: unknown;
            } & {
                [key: string]: unknown;
            })[];
        } & {
            [key: string]: unknown;
        };
        WebhookTaken: {
            /** @description How many of the results changed something. */
            taken: number;
        };
        InboundMessages: {
            results: ({
                from?: string;
                to?: string;
                receivedAt?: string;
            } & {
                [key: string]: unknown;
            })[];
        } & {
            [key: string]: unknown;
        };
        NewSmsToAnyone: {
            /** @description An e-mail address, or a telephone number in international form (E.164). */
            to: string;
            content: components["schemas"]["SmsContent"];
        };
        /**
         * @example {
         *       "text": "Your code is 123456"
         *     }
         */
        SmsContent: {
            text: string;
        };
        MessageProcessingStatus: {
            messages: {
                messageId: string;
                status: components["schemas"]["MessageStatus"];
                destination: string;
            }[];
        };
        /** @description Groups and ids are Infobip's. */
        MessageStatus: {
            groupId: number;
            groupName: string;
            id: number;
            name: string;
            description: string;
        };
        NewWhatsAppToAnyone: {
            /** @description An e-mail address, or a telephone number in international form (E.164). */
            to: string;
            content: components["schemas"]["WhatsAppContent"];
        };
        /**
         * @example {
         *       "templateName": "welcome",
         *       "templateData": {
         *         "body": {
         *           "placeholders": [
         *             "Ada"
         *           ]
         *         }
         *       },
         *       "language": "en"
         *     }
         */
        WhatsAppContent: {
            templateName: string;
            templateData: {
                body: {
                    placeholders: string[];
                };
            };
            language: string;
        };
        NewEmailToAnyone: {
            /** @description An e-mail address, or a telephone number in international form (E.164). */
            to: string;
            content: components["schemas"]["EmailContent"];
        };
        /**
         * @description Given both `html` and `text`, the e-mail is sent as html.
         * @example {
         *       "subject": "Welcome",
         *       "text": "Your account is open."
         *     }
         */
        EmailContent: {
            subject: string;
            html?: string;
            text?: string;
        };
        NewSmsToUser: {
            content: components["schemas"]["SmsContent"];
        };
        NewWhatsAppToUser: {
            content: components["schemas"]["WhatsAppContent"];
        };
        NewEmailToUser: {
            content: components["schemas"]["EmailContent"];
        };
        NewSmsToPerson: {
            content: components["schemas"]["SmsContent"];
        };
        NewWhatsAppToPerson: {
            content: components["schemas"]["WhatsAppContent"];
        };
        NewEmailToPerson: {
            content: components["schemas"]["EmailContent"];
        };
        Message: {
            id: string;
            /** @enum {string} */
            channel: "sms" | "whatsapp" | "email";
            /** @description An e-mail address or a number (E.164); empty after the recipient's data was erased. */
            destination: string;
            status: components["schemas"]["MessageStatus"];
            user?: string;
            identity?: string;
            provider: ("infobip" | "smtp") | null;
            /** @description When the provider took it. */
            sent_at?: number;
            owner: string | null;
            created_at: number;
            data: {
                [key: string]: unknown;
            };
            error: components["schemas"]["Failure"];
            updated_at?: number;
        };
        /** @description Those fields of Message that `fields` asks for. */
        MessagePart: {
            id?: string;
            /** @enum {string} */
            channel?: "sms" | "whatsapp" | "email";
            /** @description An e-mail address or a number (E.164); empty after the recipient's data was erased. */
            destination?: string;
            status?: components["schemas"]["MessageStatusPart"];
            user?: string;
            identity?: string;
            provider?: ("infobip" | "smtp") | null;
            /** @description When the provider took it. */
            sent_at?: number;
            owner?: string | null;
            created_at?: number;
            data?: {
                [key: string]: unknown;
            };
            error?: components["schemas"]["Failure"];
            updated_at?: number;
        };
        /** @description Those fields of MessageStatus that `fields` asks for. */
        MessageStatusPart: {
            groupId?: number;
            groupName?: string;
            id?: number;
            name?: string;
            description?: string;
        };
        MessagePage: {
            rows: (components["schemas"]["Message"] | components["schemas"]["MessagePart"])[];
            total: number;
            page: number;
            pageSize: number;
            totalPages: number;
        };
        MessageChange: {
            data: components["schemas"]["FreeForm"];
        };
        /** @description Those fields of User that `fields` asks for. */
        UserPart: {
            id?: string;
            username?: string;
            /** @description An opaque digest: neither is nor reveals the verifier. */
            password?: string;
            identity?: string;
            /** @example realm,own */
            scopes?: string;
            /** @example admin,manage,user */
            roles?: string;
            channel?: {
                [key: string]: unknown;
            };
            active?: boolean;
            owner?: string | null;
            created_at?: number;
            data?: {
                [key: string]: unknown;
            };
            error?: components["schemas"]["Failure"];
            updated_at?: number;
            deleted?: boolean;
            deleted_at?: number;
        };
        UserPage: {
            rows: (components["schemas"]["User"] | components["schemas"]["UserPart"])[];
            total: number;
            page: number;
            pageSize: number;
            totalPages: number;
        };
        UserChange: {
            username?: string;
            password?: components["schemas"]["Password"];
            /**
             * @description Comma-separated: own, realm.
             * @example own
             */
            scopes?: string;
            /**
             * @description Comma-separated: user, manage, admin.
             * @example user
             */
            roles?: string;
            channel?: components["schemas"]["Channel"];
            data?: components["schemas"]["FreeForm"];
            /** @description A boolean; its name as a string is taken too. */
            active?: boolean;
        };
        NewPassword: {
            /** @description The present one. */
            password: string;
            new_password: components["schemas"]["Password"];
        };
        NewTotp: {
            secret: string;
            /** @description The URI that an authenticator reads, as a QR code. */
            uri: string;
        };
        FirstCode: {
            code: string;
        };
        RecoveryCodes: {
            recovery_codes: string[];
        };
        Totp: {
            confirmed: boolean;
            recovery_codes_left: number;
        };
        Login: {
            id: string;
            user: string;
            /**
             * @description A password alone; or with it a one-time password, or a recovery code.
             * @enum {string}
             */
            method: "password" | "totp" | "recovery_code";
            /** @description Network address that it came from. */
            address: string | null;
            /**
             * @description The kind of program that it came from.
             * @example Firefox on Linux
             */
            agent: string | null;
            /** @description It gave the key in use. */
            current: boolean;
            created_at: number;
            /** @description Exact to about a minute. */
            last_used_at: number | null;
            expires_at: number;
        };
        EndedLogins: {
            ended: number;
        };
        NewApiKey: {
            name: string;
            /**
             * @description Comma-separated: user, manage, admin.
             * @example user
             */
            roles?: string;
            /**
             * @description Comma-separated: own, realm.
             * @example own
             */
            scopes?: string;
            /** @description Milliseconds since the epoch. */
            expires_at?: number;
            /** @default [] */
            addresses?: string[];
        };
        ApiKeyWithKey: {
            id: string;
            name: string;
            /** @example manage,user */
            roles: string;
            /** @example own */
            scopes: string;
            /** @description Empty: from everywhere. */
            addresses: string[];
            expires_at: number | null;
            /** @description Exact to about a minute. */
            last_used_at: number | null;
            owner: string | null;
            created_at: number;
            data: {
                [key: string]: unknown;
            };
            error: components["schemas"]["Failure"];
            updated_at?: number;
            deleted?: boolean;
            deleted_at?: number;
            key: string;
        };
        ApiKey: {
            id: string;
            name: string;
            /** @example manage,user */
            roles: string;
            /** @example own */
            scopes: string;
            /** @description Empty: from everywhere. */
            addresses: string[];
            expires_at: number | null;
            /** @description Exact to about a minute. */
            last_used_at: number | null;
            owner: string | null;
            created_at: number;
            data: {
                [key: string]: unknown;
            };
            error: components["schemas"]["Failure"];
            updated_at?: number;
            deleted?: boolean;
            deleted_at?: number;
        };
        /** @description Those fields of ApiKey that `fields` asks for. */
        ApiKeyPart: {
            id?: string;
            name?: string;
            /** @example manage,user */
            roles?: string;
            /** @example own */
            scopes?: string;
            /** @description Empty: from everywhere. */
            addresses?: string[];
            expires_at?: number | null;
            /** @description Exact to about a minute. */
            last_used_at?: number | null;
            owner?: string | null;
            created_at?: number;
            data?: {
                [key: string]: unknown;
            };
            error?: components["schemas"]["Failure"];
            updated_at?: number;
            deleted?: boolean;
            deleted_at?: number;
        };
        ApiKeyPage: {
            rows: (components["schemas"]["ApiKey"] | components["schemas"]["ApiKeyPart"])[];
            total: number;
            page: number;
            pageSize: number;
            totalPages: number;
        };
        Company: {
            id: number;
            createdAt?: string;
            modifiedAt?: string;
            name?: string;
            notes?: string;
            country?: string;
            region?: string;
            accountManager?: string;
            customerStage?: string;
            industry?: string;
            vatNumber?: string;
            customAttributes?: {
                [key: string]: unknown;
            };
            domains?: string[];
        } & {
            [key: string]: unknown;
        };
        NewCompany: {
            name: string;
            notes?: string;
            country?: string;
            region?: string;
            accountManager?: string;
            customerStage?: string;
            industry?: string;
            vatNumber?: string;
            /** @description A free-form object of at most 64 KiB. */
            customAttributes?: components["schemas"]["FreeForm"];
            /** @description Each belongs to one company. */
            domains?: string[];
        };
        CompanyChange: {
            name?: string;
            notes?: string | null;
            country?: string | null;
            region?: string | null;
            accountManager?: string | null;
            customerStage?: string | null;
            industry?: string | null;
            vatNumber?: string | null;
            /** @description A free-form object of at most 64 KiB. */
            customAttributes?: components["schemas"]["FreeForm"];
            /** @description Each belongs to one company. */
            domains?: string[];
        };
        Person: {
            id: string;
            /** @description The identity whose profile it is. */
            externalId?: string | null;
            firstName?: string;
            lastName?: string;
            middleName?: string;
            address?: string;
            city?: string;
            country?: string;
            gender?: string;
            birthDate?: string;
            profilePicture?: string;
            tags?: string[];
            customAttributes?: {
                [key: string]: unknown;
            };
            contactInformation?: {
                [key: string]: unknown;
            };
            createdAt?: string;
            modifiedAt?: string;
            origin?: string;
            modifiedFrom?: string;
        } & {
            [key: string]: unknown;
        };
        PersonsSync: {
            id: string;
            country: string;
            currency: string;
            limit: number | null;
            page: number | null;
            owner: string;
            /** @enum {string} */
            state: "running" | "done" | "failed";
            /** @description The step that runs, or was the last: 1 to 3. */
            step: number;
            /** @description Persons that were read, in all steps together. */
            read: number;
            linked: number;
            completed: number;
            created: number;
            created_at: number;
            finished_at: number | null;
            error: components["schemas"]["Failure"];
        };
        NewPersonsSync: {
            country?: components["schemas"]["Country"];
            currency?: components["schemas"]["AccountingCurrency"];
            /** @description Only one page, of so many persons. */
            limit?: number;
            /** @description Which page, from 1. */
            page?: number;
            /** @description A condition in the platform's own language, as an object or as its JSON text. */
            filter?: string | {
                [key: string]: unknown;
            };
        };
        PersonsSyncStarted: {
            /** @constant */
            name: "EventStarted";
            message: string;
            /** @constant */
            code: 200;
            /** @constant */
            type: "persons.sync.started";
            data: {
                id: string;
                country: string;
                currency: string;
                limit: number | null;
                page: number | null;
                owner: string;
            };
        };
        NewPersonIdentity: {
            /**
             * @default person
             * @enum {string}
             */
            type?: "neutral" | "person" | "company";
            country?: components["schemas"]["Country"];
            currency?: components["schemas"]["AccountingCurrency"];
            alias?: components["schemas"]["AliasCode"];
            company?: number | null;
            /** @default {} */
            data?: components["schemas"]["FreeForm"];
            person: components["schemas"]["PersonFields"];
        };
        /**
         * @description Unique in the realm, for accounts and identities together, in any case of its letters, and never in the form of an id or of an address. It is found as it was given.
         * @example alice
         */
        AliasCode: string;
        PersonFields: {
            firstName?: string;
            lastName?: string;
            middleName?: string;
            address?: string;
            city?: string;
            country?: string;
            /** @enum {string} */
            gender?: "MALE" | "FEMALE";
            /** Format: date */
            birthDate?: string;
            /** Format: uri */
            profilePicture?: string;
            tags?: string[];
            /** @description A free-form object of at most 64 KiB. */
            customAttributes?: components["schemas"]["FreeForm"];
            contactInformation?: components["schemas"]["ContactInformation"];
        };
        ContactInformation: {
            phone?: {
                number: string;
            }[];
            email?: {
                address: string & (unknown & unknown);
            }[];
            push?: {
                applicationId: string;
                registrationId: string;
                additionalData?: components["schemas"]["FreeForm"];
                systemData?: components["schemas"]["FreeForm"];
            }[];
            facebook?: {
                applicationId: string;
                userId: string;
                systemData?: components["schemas"]["FreeForm"];
            }[];
            line?: {
                applicationId: string;
                userId: string;
                systemData?: components["schemas"]["FreeForm"];
            }[];
            instagram?: {
                applicationId: string;
                userId: string;
                systemData?: components["schemas"]["FreeForm"];
            }[];
            twitter?: {
                applicationId: string;
                userId: string;
                systemData?: components["schemas"]["FreeForm"];
            }[];
        };
        PersonIdentity: {
            id: string;
            /** @enum {string} */
            type: "neutral" | "person" | "company";
            alias?: string | null;
            country: string;
            currency: string;
            person: components["schemas"]["Person"] | null;
            /** @description The id; with `populate`, the company itself. */
            company: number | null | components["schemas"]["Company"];
            owner: string | null;
            created_at: number;
            data: {
                [key: string]: unknown;
            };
            error: components["schemas"]["Failure"];
            updated_at?: number;
            deleted?: boolean;
            deleted_at?: number;
        };
        PersonChange: {
            firstName?: string | null;
            lastName?: string | null;
            middleName?: string | null;
            address?: string | null;
            city?: string | null;
            country?: string | null;
            gender?: ("MALE" | "FEMALE") | null;
            birthDate?: string | null;
            profilePicture?: string | null;
            /** @description Added to those that are there. */
            tags?: string[];
            /** @description Each replaces the one of its name; null removes it. */
            customAttributes?: components["schemas"]["FreeForm"];
            /** @description Added to what is there. */
            contactInformation?: components["schemas"]["ContactInformation"];
        };
        Identity: {
            id: string;
            /** @enum {string} */
            type: "neutral" | "person" | "company";
            alias?: string | null;
            country: string;
            currency: string;
            /** @description The id; with `populate`, the person itself. */
            person: (string | null) | components["schemas"]["Person"];
            /** @description The id; with `populate`, the company itself. */
            company: number | null | components["schemas"]["Company"];
            owner: string | null;
            created_at: number;
            data: {
                [key: string]: unknown;
            };
            error: components["schemas"]["Failure"];
            updated_at?: number;
            deleted?: boolean;
            deleted_at?: number;
        };
        NewPersonEvent: {
            data: {
                /** @default {} */
                properties?: components["schemas"]["FreeForm"];
            };
        };
        PersonEvent: {
            definitionId: string;
            personId: string;
            personIdentifierType: string;
            occurredTime: string;
            properties: {
                [key: string]: unknown;
            };
        };
        PersonExport: {
            identity: {
                [key: string]: unknown;
            };
            person: components["schemas"]["Person"];
            /** @description Custom events, the latest first; null where the platform does not give them back. */
            events: components["schemas"]["PersonEvent"][] | null;
            /** @description `events_before` of the next part; null after the last. */
            events_next: string | null;
            /** @description Messages to the person, the latest first, as `GET /v1/messages` shows them. */
            messages: {
                [key: string]: unknown;
            }[];
            /** @description `messages_before` of the next part; null after the last. */
            messages_next: string | null;
            exported_at: number;
        };
        NewIdentityWithAlias: {
            /**
             * @default neutral
             * @enum {string}
             */
            type?: "neutral" | "person" | "company";
            country?: components["schemas"]["Country"];
            currency?: components["schemas"]["AccountingCurrency"];
            /** @default {} */
            data?: components["schemas"]["FreeForm"];
            alias?: components["schemas"]["AliasCode"];
        };
        /** @description Those fields of Identity that `fields` asks for. */
        IdentityPart: {
            id?: string;
            /** @enum {string} */
            type?: "neutral" | "person" | "company";
            alias?: string | null;
            country?: string;
            currency?: string;
            /** @description The id; with `populate`, the person itself. */
            person?: (string | null) | components["schemas"]["PersonPart"];
            /** @description The id; with `populate`, the company itself. */
            company?: number | null | components["schemas"]["CompanyPart"];
            owner?: string | null;
            created_at?: number;
            data?: {
                [key: string]: unknown;
            };
            error?: components["schemas"]["Failure"];
            updated_at?: number;
            deleted?: boolean;
            deleted_at?: number;
        };
        /** @description Those fields of Person that `fields` asks for. */
        PersonPart: {
            id?: string;
            /** @description The identity whose profile it is. */
            externalId?: string | null;
            firstName?: string;
            lastName?: string;
            middleName?: string;
            address?: string;
            city?: string;
            country?: string;
            gender?: string;
            birthDate?: string;
            profilePicture?: string;
            tags?: string[];
            customAttributes?: {
                [key: string]: unknown;
            };
            contactInformation?: {
                [key: string]: unknown;
            };
            createdAt?: string;
            modifiedAt?: string;
            origin?: string;
            modifiedFrom?: string;
        } & {
            [key: string]: unknown;
        };
        /** @description Those fields of Company that `fields` asks for. */
        CompanyPart: {
            id?: number;
            createdAt?: string;
            modifiedAt?: string;
            name?: string;
            notes?: string;
            country?: string;
            region?: string;
            accountManager?: string;
            customerStage?: string;
            industry?: string;
            vatNumber?: string;
            customAttributes?: {
                [key: string]: unknown;
            };
            domains?: string[];
        } & {
            [key: string]: unknown;
        };
        IdentityPage: {
            rows: (components["schemas"]["Identity"] | components["schemas"]["IdentityPart"])[];
            total: number;
            page: number;
            pageSize: number;
            totalPages: number;
        };
        IdentityChange: {
            /** @enum {string} */
            type?: "neutral" | "person" | "company";
            country?: components["schemas"]["Country"];
            currency?: components["schemas"]["AccountingCurrency"];
            /** @description Null removes it. */
            company?: number | null;
            data?: components["schemas"]["FreeForm"];
        };
        AddressUses: {
            address: string;
            uses: components["schemas"]["AddressUse"][];
        };
        AddressUse: {
            /**
             * @description The address of a ramp itself, of a deposit account, of a third party that is linked to an account, or one that a ramp has not given out yet.
             * @enum {string}
             */
            kind: "ramp" | "deposit" | "linked" | "reserved";
            chain: string;
            testnet: boolean;
            /** @description The one asset that is credited there. */
            asset: string;
            /** @description The account that is credited; or the ramp. */
            account: string;
            /** @description The virtual account that the value goes on to, or that is credited itself. */
            beneficiary: string | null;
            owner: string | null;
            /** @description Since when a linked address is not watched: too many deposits arrived there. */
            paused_at: number | null;
            created_at: number;
        };
        Address: {
            id: string;
            account: string;
            asset: string;
            address: string;
            derivation_key: string;
            xpub: string | null;
            destination_tag: string | null;
            memo: string | null;
            message: string | null;
            notification: string | null;
            owner: string | null;
            data: {
                [key: string]: unknown;
            };
            created_at: number;
            error: components["schemas"]["Failure"];
        };
        NewAddress: {
            /**
             * @description Copied into the deposits that arrive there.
             * @default {}
             */
            data?: components["schemas"]["FreeForm"];
        };
        Account: {
            id: string;
            /** @enum {string} */
            type: "virtual" | "ramp" | "deposit" | "system";
            asset: string;
            currency: string;
            country: string;
            holder: string | components["schemas"]["Identity"] | null;
            testnet: boolean;
            default: boolean;
            reference: string | null;
            /** @description Of a virtual or deposit account, its ramp; of a ramp, its address. */
            ramp: string | components["schemas"]["Account"] | {
                address: string | null;
            } | null;
            balance: {
                total: components["schemas"]["Decimal"];
                available: components["schemas"]["Decimal"];
                /** @description The part that came to linked external addresses: never available; unless 0. */
                linked?: components["schemas"]["Decimal"];
                assets?: components["schemas"]["Decimal"];
                gas?: components["schemas"]["Decimal"];
            };
            active: boolean;
            frozen: boolean;
            enabled: boolean;
            alias?: string | null;
            /** @description With `populate=address`. */
            chain?: string;
            /** @description With `populate=address`; null where it has none yet. */
            address?: null | components["schemas"]["Address"];
            owner: string | components["schemas"]["User"] | null;
            created_at: number;
            data: {
                [key: string]: unknown;
            };
            error: components["schemas"]["Failure"];
            updated_at?: number;
            deleted?: boolean;
            deleted_at?: number;
        };
        /**
         * @description An exact decimal without trailing zeros.
         * @example 99.5
         */
        Decimal: string;
        ExternalAddress: {
            address: string;
            currency: string;
            /** @description Since when it is watched no more, because more deposits arrived than a day records. */
            paused_at?: number;
        };
        Rescan: {
            /** @enum {string} */
            chain: "BITCOIN" | "LITECOIN" | "BITCOIN_CASH" | "DOGECOIN" | "ETHEREUM" | "POLYGON" | "CELO" | "BSC" | "SOLANA" | "TRON";
            /** @description A boolean; its name as a string is taken too. */
            testnet?: boolean;
        } & ({
            hash: string;
            from?: never;
            to?: never;
        } | {
            hash?: never;
            from: number;
            to: number;
        });
        RescanQueued: {
            /** @constant */
            queued: true;
            /** @description GET /v1/deposits/rescans/{id} tells what was found. */
            id: string;
            /** @enum {string} */
            chain: "BITCOIN" | "LITECOIN" | "BITCOIN_CASH" | "DOGECOIN" | "ETHEREUM" | "POLYGON" | "CELO" | "BSC" | "SOLANA" | "TRON";
            /**
             * @description A boolean; its name as a string is taken too.
             * @default false
             */
            testnet: boolean;
            hash?: string;
            from?: number;
            to?: number;
        };
        DepositRescan: {
            id: string;
            /**
             * @description A failed attempt is queued again until the last one has failed.
             * @enum {string}
             */
            state: "queued" | "running" | "done" | "failed";
            chain: string;
            testnet: boolean;
            hash: string | null;
            from: number | null;
            to: number | null;
            found: {
                deposit?: string;
                unmatched?: string;
                /** @description A transfer to an address of the realm that is neither: a payment of the realm's own, one before the address or token counts, or gas at a ramp's address. */
                output?: {
                    hash: string;
                    index: number;
                    address: string;
                };
            }[];
            /** @description All transfers to addresses of the realm; at most 100 are listed. */
            found_count: number;
            /** @description What one node knows of the transaction; null for blocks, and until it was asked. A node of a coin chain without an index does not know spent transactions. */
            node: {
                /** @enum {string} */
                state: "unknown" | "pending" | "failed" | "block";
                block: number | null;
            } | null;
            error: components["schemas"]["Failure"];
            owner: string;
            created_at: number;
            finished_at: number | null;
        };
        DepositExplanation: {
            /**
             * @description Of several payments the first in this order, so that one that waits is told before those that are credited.
             * @enum {string}
             */
            verdict: "held" | "unmined" | "too_shallow" | "unmatched" | "below_minimum" | "forwarding" | "credited" | "orphaned" | "own_payment" | "no_such_address" | "not_given_out" | "paused" | "not_scanned" | "not_seen";
            facts: {
                /** @enum {string} */
                fact: "deposit" | "unmatched" | "address" | "payment" | "chain" | "rescan";
                /** @description Of the deposit, the unmatched deposit, the account, the withdrawal or the rescan; null where there is none to show. */
                id: string | null;
                detail: string;
            }[];
        };
        UnmatchedDeposit: {
            id: string;
            /** @description The ramp or deposit account whose address it is. */
            account: string;
            address: string;
            /** @description The asset that the address is for. */
            expected: string;
            chain: string;
            testnet: boolean;
            /** @description Null for an unknown token. */
            asset: string | null;
            /** @description Null for the chain's own coin. */
            contract: string | null;
            /** @description Null where the asset is not known. */
            amount: components["schemas"]["Decimal"] | null;
            /** @description Base units, as the chain's log or value says. */
            units: string;
            hash: string;
            index: number;
            block: number;
            sender: string | null;
            explorer_url: string | null;
            created_at: number;
        };
        Deposit: {
            id: string;
            account: string;
            /** @description The virtual account that the value goes on to, or that is credited itself; null where it stays on a ramp. */
            beneficiary: string | null;
            /** @description With `populate=source.account`: `account` whole, at whose address it arrived, if the caller may see it. */
            source?: {
                account: components["schemas"]["Account"];
            };
            /** @description With `populate=destination.account`: `beneficiary` whole, where there is one that the caller may see. */
            destination?: {
                account: components["schemas"]["Account"];
            };
            address: string;
            asset: string;
            hash: string;
            index: number;
            block: number | null;
            amount: components["schemas"]["Decimal"];
            confirmations: number;
            /** @enum {string} */
            status: "PENDING" | "CONFIRMED" | "ORPHANED";
            forward: {
                hash: string | null;
                fee: components["schemas"]["Decimal"] | null;
                status: string;
                /** @description Why it waits, or why it failed. */
                error?: unknown;
            } | null;
            transaction: string | null;
            address_data: {
                [key: string]: unknown;
            } | null;
            owner: string | null;
            created_at: number;
            updated_at?: number;
            error: components["schemas"]["Failure"];
            /** @description Confirmations at which it is credited, as this installation is set. Events do not say it. */
            needs?: number;
            /** @description Estimated seconds until it is credited, at the chain's usual time between blocks. Null where nobody can say: it is in no block yet, waits for something else, or waits no more. Events do not say it. */
            eta_s?: number | null;
        };
        /** @description Those fields of Deposit that `fields` asks for. */
        DepositPart: {
            id?: string;
            account?: string;
            /** @description The virtual account that the value goes on to, or that is credited itself; null where it stays on a ramp. */
            beneficiary?: string | null;
            /** @description With `populate=source.account`: `account` whole, at whose address it arrived, if the caller may see it. */
            source?: {
                account?: components["schemas"]["AccountPart"];
            };
            /** @description With `populate=destination.account`: `beneficiary` whole, where there is one that the caller may see. */
            destination?: {
                account?: components["schemas"]["AccountPart"];
            };
            address?: string;
            asset?: string;
            hash?: string;
            index?: number;
            block?: number | null;
            amount?: components["schemas"]["Decimal"];
            confirmations?: number;
            /** @enum {string} */
            status?: "PENDING" | "CONFIRMED" | "ORPHANED";
            forward?: {
                hash?: string | null;
                fee?: components["schemas"]["Decimal"] | null;
                status?: string;
                /** @description Why it waits, or why it failed. */
                error?: unknown;
            } | null;
            transaction?: string | null;
            address_data?: {
                [key: string]: unknown;
            } | null;
            owner?: string | null;
            created_at?: number;
            updated_at?: number;
            error?: components["schemas"]["Failure"];
            /** @description Confirmations at which it is credited, as this installation is set. Events do not say it. */
            needs?: number;
            /** @description Estimated seconds until it is credited, at the chain's usual time between blocks. Null where nobody can say: it is in no block yet, waits for something else, or waits no more. Events do not say it. */
            eta_s?: number | null;
        };
        /** @description Those fields of Account that `fields` asks for. */
        AccountPart: {
            id?: string;
            /** @enum {string} */
            type?: "virtual" | "ramp" | "deposit" | "system";
            asset?: string;
            currency?: string;
            country?: string;
            holder?: string | components["schemas"]["IdentityPart"] | null;
            testnet?: boolean;
            default?: boolean;
            reference?: string | null;
            /** @description Of a virtual or deposit account, its ramp; of a ramp, its address. */
            ramp?: string | components["schemas"]["AccountPart"] | {
                address?: string | null;
            } | null;
            balance?: {
                total?: components["schemas"]["Decimal"];
                available?: components["schemas"]["Decimal"];
                /** @description The part that came to linked external addresses: never available; unless 0. */
                linked?: components["schemas"]["Decimal"];
                assets?: components["schemas"]["Decimal"];
                gas?: components["schemas"]["Decimal"];
            };
            active?: boolean;
            frozen?: boolean;
            enabled?: boolean;
            alias?: string | null;
            /** @description With `populate=address`. */
            chain?: string;
            /** @description With `populate=address`; null where it has none yet. */
            address?: null | components["schemas"]["AddressPart"];
            owner?: string | components["schemas"]["UserPart"] | null;
            created_at?: number;
            data?: {
                [key: string]: unknown;
            };
            error?: components["schemas"]["Failure"];
            updated_at?: number;
            deleted?: boolean;
            deleted_at?: number;
        };
        /** @description Those fields of Address that `fields` asks for. */
        AddressPart: {
            id?: string;
            account?: string;
            asset?: string;
            address?: string;
            derivation_key?: string;
            xpub?: string | null;
            destination_tag?: string | null;
            memo?: string | null;
            message?: string | null;
            notification?: string | null;
            owner?: string | null;
            data?: {
                [key: string]: unknown;
            };
            created_at?: number;
            error?: components["schemas"]["Failure"];
        };
        DepositPage: {
            rows: (components["schemas"]["Deposit"] | components["schemas"]["DepositPart"])[];
            total: number;
            page: number;
            pageSize: number;
            totalPages: number;
        };
        NewDepositApplication: {
            destination: components["schemas"]["DestinationParty"];
            asset: string;
            seal?: components["schemas"]["FreeForm"];
            /** @default {} */
            data?: components["schemas"]["FreeForm"];
        };
        DestinationParty: {
            account: components["schemas"]["Id"];
            alias?: never;
            address?: never;
        } | {
            account?: never;
            alias: string;
            address?: never;
        } | {
            account?: never;
            alias?: never;
            address: string;
        };
        DepositApplication: {
            id: string;
            source: {
                /** @description The id; with `populate`, the account itself. */
                account: string | components["schemas"]["Account"];
                deposit_address: string | null;
                owner: string | null;
            };
            destination: {
                /** @description The id; with `populate`, the account itself. */
                account: string | components["schemas"]["Account"];
                owner: string | null;
            };
            asset: string;
            seal: {
                [key: string]: unknown;
            } | null;
            /** @enum {string} */
            status: "PENDING" | "PROCESSING" | "DONE" | "FAILED";
            /** @description The latest 1000, oldest first. */
            deposits?: string[];
            owner: string | null;
            created_at: number;
            data: {
                [key: string]: unknown;
            };
            error: components["schemas"]["Failure"];
            updated_at?: number;
            deleted?: boolean;
            deleted_at?: number;
        };
        DepositApplicationPage: {
            rows: (components["schemas"]["DepositApplication"] | components["schemas"]["DepositApplicationPart"])[];
            total: number;
            page: number;
            pageSize: number;
            totalPages: number;
        };
        /** @description Those fields of DepositApplication that `fields` asks for. */
        DepositApplicationPart: {
            id?: string;
            source?: {
                /** @description The id; with `populate`, the account itself. */
                account?: string | components["schemas"]["AccountPart"];
                deposit_address?: string | null;
                owner?: string | null;
            };
            destination?: {
                /** @description The id; with `populate`, the account itself. */
                account?: string | components["schemas"]["AccountPart"];
                owner?: string | null;
            };
            asset?: string;
            seal?: {
                [key: string]: unknown;
            } | null;
            /** @enum {string} */
            status?: "PENDING" | "PROCESSING" | "DONE" | "FAILED";
            /** @description The latest 1000, oldest first. */
            deposits?: string[];
            owner?: string | null;
            created_at?: number;
            data?: {
                [key: string]: unknown;
            };
            error?: components["schemas"]["Failure"];
            updated_at?: number;
            deleted?: boolean;
            deleted_at?: number;
        };
        DepositApplicationChange: {
            data?: components["schemas"]["FreeForm"];
        };
        NewAccount: {
            /** @enum {string} */
            type: "virtual" | "ramp" | "deposit";
            /**
             * @description An asset code or a virtual currency.
             * @example BTC
             */
            asset: string;
            /** @description Of ramp and deposit accounts, the holder's unless given; a virtual account takes its holder's. */
            currency?: components["schemas"]["AccountingCurrency"];
            /** @description Only a virtual account can be the default. */
            default?: boolean;
            /** @default {} */
            data?: components["schemas"]["FreeForm"];
            holder?: components["schemas"]["Id"];
            owner?: components["schemas"]["Id"];
            /** @description A boolean; its name as a string is taken too. */
            testnet?: boolean;
            reference?: string;
            alias?: components["schemas"]["AliasCode"];
            /** @description The ramp account of a virtual or deposit account. */
            ramp?: components["schemas"]["Id"];
        };
        AccountPage: {
            rows: (components["schemas"]["Account"] | components["schemas"]["AccountPart"])[];
            total: number;
            page: number;
            pageSize: number;
            totalPages: number;
        };
        AccountChange: {
            data?: components["schemas"]["FreeForm"];
            /** @description Moved by the holder's own user, or by roles manage and admin with scope realm. */
            default?: boolean;
            ramp?: components["schemas"]["Id"] | null;
        };
        AccountStateChange: {
            /** @description Kept as a note about the account, of the kind `freeze` for a freeze. It takes role manage or admin and scope realm; customers do not see it. */
            reason?: string;
        };
        NewConsolidation: {
            /** @default slow */
            speed?: components["schemas"]["Speed"];
            /** @description The most that it may cost, in whole units. Unset: whatever its size comes to. */
            max_fee?: components["schemas"]["Amount"];
            /** @description The most that 1000 virtual bytes may cost, in whole units. Unset: the rate up to which fees count as low, 0.00005 BTC, 0.00005 LTC, 0.00002 BCH, 0.02 DOGE. */
            max_fee_rate?: components["schemas"]["Amount"];
            /** @default {} */
            data?: components["schemas"]["FreeForm"];
        };
        /** @enum {string} */
        Speed: "slow" | "medium" | "fast";
        Consolidation: {
            id: string;
            account: string;
            address: string;
            asset: string;
            speed: components["schemas"]["Speed"];
            max_fee: components["schemas"]["Decimal"] | null;
            max_fee_rate: components["schemas"]["Decimal"];
            /** @description Coins that it is expected to spend; once it is planned, those it spends. */
            coins: number;
            /** @description The sum of these coins. */
            amount: components["schemas"]["Decimal"];
            /** @description The highest cost that was expected. */
            estimate: components["schemas"]["Decimal"];
            /** @description The cost; null until it is planned. */
            fee: components["schemas"]["Decimal"] | null;
            /** @enum {string} */
            status: "PROCESSING" | "DONE" | "FAILED";
            chain?: {
                hash: string;
                block: number | null;
                confirmations: number;
                explorer_url: string | null;
            };
            owner: string | null;
            created_at: number;
            updated_at?: number;
            data: {
                [key: string]: unknown;
            };
            error: components["schemas"]["Failure"];
        };
        ConsolidationPage: {
            rows: components["schemas"]["Consolidation"][];
            total: number;
            page: number;
            pageSize: number;
            totalPages: number;
        };
        ConsolidationSpeedUp: {
            speed: components["schemas"]["Speed"];
            /** @description The most that it may cost, in whole units. Unset: whatever its size comes to. */
            max_fee?: components["schemas"]["Amount"];
            /** @description The most that 1000 virtual bytes may cost, in whole units. Unset: the rate up to which fees count as low, 0.00005 BTC, 0.00005 LTC, 0.00002 BCH, 0.02 DOGE. */
            max_fee_rate?: components["schemas"]["Amount"];
        };
        ChainOrder: {
            id: string;
            /** @example withdrawal */
            purpose: string;
            /** @description The withdrawal, sweep, token or consolidation that it is for. */
            reference: string | null;
            chain: string;
            network: string;
            sender: string;
            nonce: number | null;
            /** @enum {string} */
            state: "new" | "batched" | "planned" | "signed" | "sent" | "mined" | "done" | "failed" | "dropped" | "canceled";
            /** @description When it came into its state. */
            since: number;
            /** @description Why it waits, or how it ended, without addresses of hosts. */
            error: string | null;
            /** @description Runs that were scheduled for it so far. */
            runs: number;
            attempts: {
                /** @description Null while it is not signed. */
                hash: string | null;
                /** @description The most that it can cost. */
                fee: {
                    asset: string;
                    /** @description An exact decimal. */
                    value: string;
                } | null;
                /** @description When it was first sent. */
                sent_at: number | null;
                /** @description What the nodes said to its bytes. */
                outcome: string | null;
                /** @description It is proven that it will never be mined. */
                dead: boolean;
            }[];
            created_at: number;
        };
        Asset: {
            code: string;
            class: string;
            /**
             * @description Identifier of the chain.
             * @example ETHEREUM
             */
            chain: string;
            blockchain: string;
            /** @description Symbol of the coin that pays the fees. */
            gas: string | null;
            gas_asset: string | null;
            decimals: number;
            contract: string | null;
            testnet: boolean;
            /** @enum {string} */
            state: "active" | "deposit-only" | "withdraw-only" | "suspended";
            reason: string | null;
            /** @description Whether its main network has a node. */
            configured: boolean;
            configured_testnet: boolean;
        };
        Chain: {
            chain: string;
            blockchain: string;
            network: string;
            testnet: boolean;
            confirmations: number;
            /** @description Nodes that are configured. */
            nodes: number;
            /** @description Nodes that must agree before a deposit counts or a withdrawal is given back. */
            quorum: number;
            /** @description The newest block seen. */
            height: number | null;
            /** @description The newest block that as many nodes as the quorum call final. Null where fewer tell one, and on test networks and coin chains: there the depth alone counts. */
            finalized: number | null;
            /** @description The last block scanned. */
            scanned: number | null;
            /** @description Blocks seen and not yet scanned. */
            lag: number | null;
            scanned_at: number | null;
            /** @description Null where the realm has no ramp and no linked address there yet, so that no worker reads it. */
            healthy: boolean | null;
            /** @description Why the chain is not followed, or a matter for an operator: nodes that contradict each other, deposits that too few of them confirm. */
            error: string | null;
            /** @description Ramps of the realm that an operator must reconcile before anything is signed. */
            quarantined: number;
            /** @description Balances of the realm's addresses that rose without a transfer that explains it. */
            unexplained: number;
        };
        ChainHistory: {
            /**
             * @description Identifier of the chain.
             * @example ETHEREUM
             */
            chain: string;
            network: string;
            testnet: boolean;
            from: number;
            to: number;
            points: {
                sampled_at: number;
                /** @description The newest block seen until then. */
                height: number;
                /** @description The last block scanned. */
                scanned: number;
                /** @description Blocks seen and not yet scanned. */
                lag: number;
                /** @description When a node last answered. Where that is long before, `lag` tells nothing. */
                scanned_at: number;
                healthy: boolean;
            }[];
        };
        EntryPage: {
            rows: components["schemas"]["Entry"][];
            total: number;
            page: number;
            pageSize: number;
            totalPages: number;
        };
        Entry: {
            seq: number;
            transaction: string;
            type: string;
            amount: components["schemas"]["Decimal"];
            balance: components["schemas"]["Decimal"];
            available: components["schemas"]["Decimal"];
            counterparty: string;
            reference: string | null;
            created_at: number;
        };
        BalanceAt: {
            account: string;
            asset: string;
            at: number;
            total: components["schemas"]["Decimal"];
            available: components["schemas"]["Decimal"];
            linked?: components["schemas"]["Decimal"];
        };
        Balances: {
            account: string;
            asset: string;
            from: number;
            to: number;
            points: {
                at: number;
                total: components["schemas"]["Decimal"];
                available: components["schemas"]["Decimal"];
                linked?: components["schemas"]["Decimal"];
            }[];
        };
        Statement: {
            account: string;
            asset: string;
            holder: string | null;
            from: number;
            to: number;
            opening: {
                total: components["schemas"]["Decimal"];
                available: components["schemas"]["Decimal"];
                linked?: components["schemas"]["Decimal"];
            };
            entries: components["schemas"]["Entry"][];
            closing: {
                total: components["schemas"]["Decimal"];
                available: components["schemas"]["Decimal"];
                linked?: components["schemas"]["Decimal"];
            };
        };
        NewBlock: {
            amount: components["schemas"]["Amount"];
            reason?: string;
            /** @description Milliseconds since the epoch. */
            expires_at?: number;
            /** @default {} */
            data?: components["schemas"]["FreeForm"];
        };
        Block: {
            id: string;
            account: string;
            amount: components["schemas"]["Decimal"];
            captured: components["schemas"]["Decimal"];
            reason: string | null;
            /** @enum {string} */
            status: "OPEN" | "CAPTURED" | "RELEASED" | "EXPIRED";
            expires_at: number | null;
            transaction: string | null;
            owner: string | null;
            created_at: number;
            updated_at?: number;
            data: {
                [key: string]: unknown;
            };
            error: components["schemas"]["Failure"];
        };
        BlockPage: {
            rows: components["schemas"]["Block"][];
            total: number;
            page: number;
            pageSize: number;
            totalPages: number;
        };
        Capture: {
            destination: components["schemas"]["DestinationParty"];
            amount?: components["schemas"]["Amount"];
            seal?: components["schemas"]["FreeForm"];
            data?: components["schemas"]["FreeForm"];
        };
        Transaction: {
            id: string;
            seq: number | null;
            hash: string | null;
            /** @enum {string} */
            type: "transfer" | "deposit" | "forward" | "withdrawal" | "return" | "fee" | "issue" | "destroy" | "capture" | "revert";
            /** @constant */
            status: "DONE";
            source: {
                /** @description The id; with `populate`, the account itself. */
                account: string | components["schemas"]["Account"];
                owner: string | null;
                holder: string | null;
            };
            destination: {
                /** @description The id; with `populate`, the account itself. */
                account: string | components["schemas"]["Account"];
                owner: string | null;
                holder: string | null;
            };
            asset: string;
            amount: components["schemas"]["Decimal"];
            fiat: {
                currency: string;
                rate: components["schemas"]["Decimal"];
                value: components["schemas"]["Decimal"];
            } | null;
            seal: {
                [key: string]: unknown;
            } | null;
            data: {
                [key: string]: unknown;
            };
            reference: string | null;
            address_data?: {
                [key: string]: unknown;
            };
            reverts?: string;
            balances: {
                source: {
                    total: components["schemas"]["Decimal"];
                    available: components["schemas"]["Decimal"];
                } | null;
                destination: {
                    total: components["schemas"]["Decimal"];
                    available: components["schemas"]["Decimal"];
                } | null;
            };
            owner: string | null;
            created_at: number;
            updated_at?: number;
            error: components["schemas"]["Failure"];
        };
        NewAlias: {
            alias: components["schemas"]["AliasCode"];
            /** @enum {string} */
            type: "account" | "identity";
            account?: components["schemas"]["Id"];
            identity?: components["schemas"]["Id"];
            /** @default {} */
            data?: components["schemas"]["FreeForm"];
        } & ({
            /** @constant */
            type?: "account";
            identity?: never;
        } | {
            /** @constant */
            type?: "identity";
            account?: never;
        });
        Alias: {
            id: string;
            alias: string;
            /** @enum {string} */
            type: "account" | "identity";
            /** @description The id; with `populate`, the account itself. */
            account?: string | components["schemas"]["Account"];
            /** @description The id; with `populate`, the identity itself. */
            identity?: string | components["schemas"]["Identity"];
            owner: string | null;
            created_at: number;
            data: {
                [key: string]: unknown;
            };
            error: components["schemas"]["Failure"];
            updated_at?: number;
            deleted?: boolean;
            deleted_at?: number;
        };
        /** @description Those fields of Alias that `fields` asks for. */
        AliasPart: {
            id?: string;
            alias?: string;
            /** @enum {string} */
            type?: "account" | "identity";
            /** @description The id; with `populate`, the account itself. */
            account?: string | components["schemas"]["AccountPart"];
            /** @description The id; with `populate`, the identity itself. */
            identity?: string | components["schemas"]["IdentityPart"];
            owner?: string | null;
            created_at?: number;
            data?: {
                [key: string]: unknown;
            };
            error?: components["schemas"]["Failure"];
            updated_at?: number;
            deleted?: boolean;
            deleted_at?: number;
        };
        AliasPage: {
            rows: (components["schemas"]["Alias"] | components["schemas"]["AliasPart"])[];
            total: number;
            page: number;
            pageSize: number;
            totalPages: number;
        };
        AliasChange: {
            data?: components["schemas"]["FreeForm"];
        };
        NewCurrency: {
            name: string;
            supply?: components["schemas"]["AmountOrZero"];
            base?: string;
            rate?: components["schemas"]["Amount"];
            currency?: components["schemas"]["AccountingCurrency"];
            symbol?: string;
            /** Format: uri */
            symbol_url?: string;
            /** @description The name of the sub-unit, in singular and plural. */
            sub_unit?: [
                string,
                string
            ];
            /** @default {} */
            data?: components["schemas"]["FreeForm"];
        };
        Currency: {
            id: string;
            name: string;
            supply: components["schemas"]["Decimal"];
            base: string | null;
            /** @description An exact decimal. */
            rate: string | null;
            currency: string;
            country: string;
            symbol: string | null;
            symbol_url: string | null;
            sub_unit: string[] | null;
            /** @description The id; with `populate`, the account itself. */
            account: string | components["schemas"]["Account"];
            issuing: {
                /** @enum {string} */
                operation: "issue" | "destroy";
                amount: components["schemas"]["Decimal"];
                account: string;
                reference: string;
            }[];
            active: boolean;
            owner: string | null;
            created_at: number;
            data: {
                [key: string]: unknown;
            };
            error: components["schemas"]["Failure"];
            updated_at?: number;
            deleted?: boolean;
            deleted_at?: number;
        };
        /** @description Those fields of Currency that `fields` asks for. */
        CurrencyPart: {
            id?: string;
            name?: string;
            supply?: components["schemas"]["Decimal"];
            base?: string | null;
            /** @description An exact decimal. */
            rate?: string | null;
            currency?: string;
            country?: string;
            symbol?: string | null;
            symbol_url?: string | null;
            sub_unit?: string[] | null;
            /** @description The id; with `populate`, the account itself. */
            account?: string | components["schemas"]["AccountPart"];
            issuing?: {
                /** @enum {string} */
                operation?: "issue" | "destroy";
                amount?: components["schemas"]["Decimal"];
                account?: string;
                reference?: string;
            }[];
            active?: boolean;
            owner?: string | null;
            created_at?: number;
            data?: {
                [key: string]: unknown;
            };
            error?: components["schemas"]["Failure"];
            updated_at?: number;
            deleted?: boolean;
            deleted_at?: number;
        };
        CurrencyPage: {
            rows: (components["schemas"]["Currency"] | components["schemas"]["CurrencyPart"])[];
            total: number;
            page: number;
            pageSize: number;
            totalPages: number;
        };
        Issue: {
            /** @description The currency's own account unless given. */
            account?: components["schemas"]["Id"];
            amount: components["schemas"]["Amount"];
            seal?: components["schemas"]["FreeForm"];
            data?: components["schemas"]["FreeForm"];
        };
        CurrencyChange: {
            rate?: components["schemas"]["Amount"] | null;
            base?: string | null;
            symbol?: string | null;
            symbol_url?: string | null;
            sub_unit?: [
                string,
                string
            ] | null;
            data?: components["schemas"]["FreeForm"];
        };
        Rate: {
            base: string;
            currency: string;
            rate: components["schemas"]["Decimal"];
            source: string;
            updated_at: number | null;
        };
        NewRate: {
            /** @description An asset, a virtual currency or an accounting currency. */
            base: string;
            currency: components["schemas"]["AccountingCurrency"];
            rate: components["schemas"]["Amount"];
        };
        ChainHead: {
            seq: number;
            hash: string | null;
            unsealed: number;
        };
        ChainCheck: {
            valid: boolean;
            checked: number;
            /** @description How many of them are of archived transactions: their hashes are taken as they stand. */
            archived: number;
            head: {
                seq: number;
                hash: string | null;
            };
            break: {
                seq: number;
                reason: string;
            } | null;
            next: number | null;
        };
        ChainLink: {
            id: string;
            seq: number;
            hash: string;
            salt: string;
            type: string;
            source: {
                account: string;
            };
            destination: {
                account: string;
            };
            asset: string;
            testnet: boolean;
            amount: components["schemas"]["Decimal"];
            fiat: {
                currency: string;
                rate: components["schemas"]["Decimal"];
                value: components["schemas"]["Decimal"];
            } | null;
            seal: {
                [key: string]: unknown;
            } | null;
            reference: string | null;
            address_data?: {
                [key: string]: unknown;
            };
            api_key?: string;
            reverts?: string;
            owner: string | null;
            created_at: number;
        } | {
            seq: number;
            hash: string;
            salt: string;
            /** @description The table whose row it is; or `realm`, or `audit`. */
            kind: string;
            subject: string;
            /** @description All of the row that matters for whose money it is, from then on; null: gone. */
            facts: {
                [key: string]: unknown;
            } | null;
            at: number;
        } | {
            seq: number;
            hash: string;
            salt: string;
            id: string;
            /** @enum {string} */
            missing: "transaction" | "event";
            /** @description The transaction left the database with its part; an event of the chain names the part. */
            archived?: boolean;
        };
        TransactionChange: {
            data: components["schemas"]["FreeForm"];
        };
        Revert: {
            seal?: components["schemas"]["FreeForm"];
            data?: components["schemas"]["FreeForm"];
        };
        NewTransaction: {
            source: components["schemas"]["SourceParty"];
            destination: components["schemas"]["DestinationParty"];
            value: components["schemas"]["Amount"];
            asset?: string;
            seal?: components["schemas"]["FreeForm"];
            data?: components["schemas"]["FreeForm"];
            reference?: string;
            conditions?: components["schemas"]["Conditions"];
        };
        SourceParty: {
            account: components["schemas"]["Id"];
            alias?: never;
        } | {
            account?: never;
            alias: string;
        };
        Conditions: {
            source_available_gte?: components["schemas"]["AmountOrZero"];
            source_total_eq?: components["schemas"]["AmountOrZero"];
            destination_total_lte?: components["schemas"]["AmountOrZero"];
        };
        NewBatch: {
            /** @description A boolean; its name as a string is taken too. */
            atomic: boolean;
            transactions: components["schemas"]["NewTransaction"][];
        };
        Batch: {
            results: (components["schemas"]["Transaction"] | components["schemas"]["Problem"])[];
        };
        /** @description A problem (RFC 9457). Clients switch on `code`. */
        Problem: {
            /**
             * Format: uri
             * @description A page that explains the code.
             */
            type: string;
            title: string;
            status: number;
            detail: string;
            /** @enum {string} */
            code: "request.malformed" | "request.invalid" | "query.invalid" | "auth.missing" | "auth.invalid" | "auth.expired" | "auth.revoked" | "auth.credentials" | "credits.exhausted" | "permission.role" | "permission.scope" | "permission.owner" | "realm.not_found" | "key.not_found" | "user.not_found" | "identity.not_found" | "account.not_found" | "address.not_found" | "alias.not_found" | "currency.not_found" | "token.not_found" | "withdrawal.not_found" | "consolidation.not_found" | "deposit.not_found" | "transaction.not_found" | "block.not_found" | "ramp.not_found" | "transfer.not_found" | "message.not_found" | "webhook.not_found" | "delivery.not_found" | "person.not_found" | "company.not_found" | "rate.not_found" | "login.not_found" | "job.not_found" | "stop.not_found" | "problem.not_found" | "route.not_found" | "method.not_allowed" | "request.not_acceptable" | "request.too_large" | "request.media_type" | "balance.insufficient" | "account.frozen" | "account.inactive" | "account.not_enabled" | "account.not_empty" | "account.no_ramp" | "account.asset_mismatch" | "ramp.assets_insufficient" | "ramp.gas_insufficient" | "alias.taken" | "username.taken" | "person.taken" | "company.taken" | "sync.running" | "currency.taken" | "address.assigned" | "rate.unavailable" | "withdrawal.not_cancelable" | "withdrawal.below_fee" | "withdrawal.fee_exceeded" | "user.last_admin" | "transaction.reverted" | "block.closed" | "condition.failed" | "reference.taken" | "asset.suspended" | "token.pending" | "entity.deleted" | "version.conflict" | "stop.active" | "chain.quarantined" | "event.expired" | "transaction.archived" | "time.archived" | "idempotency.key_reused" | "address.invalid" | "asset.unknown" | "asset.no_testnet" | "token.unsupported_chain" | "token.invalid" | "chain.not_configured" | "recipient.invalid" | "recipient.missing" | "recipient.no_interaction" | "rate.limited" | "internal" | "extension.disabled" | "upstream.failed" | "chain.stale" | "service.overloaded" | "upstream.timeout";
            /** @description The request id. */
            instance: string;
            /** @description Each fault of the request. */
            errors?: {
                /** @description JSON pointer. */
                path: string;
                /**
                 * @description The part of the request that it points into, if not the body.
                 * @enum {string}
                 */
                in?: "query" | "path" | "header";
                message: string;
            }[];
            /** @description Position of the refused item in a batch. */
            index?: number;
        };
        /** @description Those fields of Transaction that `fields` asks for. */
        TransactionPart: {
            id?: string;
            seq?: number | null;
            hash?: string | null;
            /** @enum {string} */
            type?: "transfer" | "deposit" | "forward" | "withdrawal" | "return" | "fee" | "issue" | "destroy" | "capture" | "revert";
            /** @constant */
            status?: "DONE";
            source?: {
                /** @description The id; with `populate`, the account itself. */
                account?: string | components["schemas"]["AccountPart"];
                owner?: string | null;
                holder?: string | null;
            };
            destination?: {
                /** @description The id; with `populate`, the account itself. */
                account?: string | components["schemas"]["AccountPart"];
                owner?: string | null;
                holder?: string | null;
            };
            asset?: string;
            amount?: components["schemas"]["Decimal"];
            fiat?: {
                currency?: string;
                rate?: components["schemas"]["Decimal"];
                value?: components["schemas"]["Decimal"];
            } | null;
            seal?: {
                [key: string]: unknown;
            } | null;
            data?: {
                [key: string]: unknown;
            };
            reference?: string | null;
            address_data?: {
                [key: string]: unknown;
            };
            reverts?: string;
            balances?: {
                source?: {
                    total?: components["schemas"]["Decimal"];
                    available?: components["schemas"]["Decimal"];
                } | null;
                destination?: {
                    total?: components["schemas"]["Decimal"];
                    available?: components["schemas"]["Decimal"];
                } | null;
            };
            owner?: string | null;
            created_at?: number;
            updated_at?: number;
            error?: components["schemas"]["Failure"];
        };
        TransactionPage: {
            rows: (components["schemas"]["Transaction"] | components["schemas"]["TransactionPart"])[];
            total: number;
            page: number;
            pageSize: number;
            totalPages: number;
        };
        Estimate: {
            account: components["schemas"]["Id"];
            address: string;
            amount: components["schemas"]["Amount"];
            /** @default medium */
            speed?: components["schemas"]["Speed"];
        };
        NewWithdrawal: {
            source: components["schemas"]["SourceParty"];
            destination: {
                address: string;
            };
            /** @description Checked against the account's, if given. */
            asset?: string;
            value: components["schemas"]["Amount"];
            /**
             * @default {
             *       "paid_by": "sender",
             *       "speed": "medium"
             *     }
             */
            fee?: {
                /**
                 * @default sender
                 * @enum {string}
                 */
                paid_by?: "sender" | "receiver";
                /** @default medium */
                speed?: components["schemas"]["Speed"];
            };
            /** @description The most that is paid for fees, in whole units of the account's asset, also where the transaction fails. Refused with `condition.failed` above it. Unset: whatever the fee is. */
            max_fee?: components["schemas"]["AmountOrZero"];
            /** @default {} */
            data?: components["schemas"]["FreeForm"];
        };
        Withdrawal: {
            id: string;
            source: {
                /** @description The id; with `populate`, the account itself. */
                account: string | components["schemas"]["Account"];
                ramp: string;
                address: string;
            };
            destination: {
                address: string;
                /** @description With `populate=destination.account`: the account of this realm whose address it is, if the caller may see it. */
                account?: components["schemas"]["Account"];
            };
            asset: string;
            /** @description An exact decimal. */
            value: string;
            fee: {
                /** @enum {string} */
                paid_by: "sender" | "receiver";
                speed: components["schemas"]["Speed"];
                /** @description An exact decimal. */
                value: string;
                gas?: {
                    asset: string;
                    /** @description An exact decimal. */
                    value: string;
                };
            };
            max_fee: components["schemas"]["Decimal"] | null;
            /** @description An exact decimal. */
            amount: string;
            /** @enum {string} */
            status: "PROCESSING" | "DONE" | "FAILED" | "CANCELED";
            chain?: {
                hash: string;
                nonce?: number;
                block: number | null;
                confirmations: number;
                explorer_url: string | null;
            };
            history: ({
                at: number;
                /** @enum {string} */
                event: "created" | "waiting" | "sent" | "sped_up" | "replaced" | "mined" | "done" | "failed" | "canceled" | "found";
            } & {
                [key: string]: unknown;
            })[];
            /** @description Of one withdrawal that an administrator of the realm reads by its id: the transaction that pays it. */
            order?: components["schemas"]["PayingOrder"];
            /** @description Of one withdrawal that is read by its id: what the caller may do with it now. Whether balance and gas cover the price of a speed-up is told by its dry run. */
            acts?: {
                cancel: components["schemas"]["WithdrawalAct"];
                speed_up: components["schemas"]["WithdrawalAct"];
            };
            /** @description Of a speed-up, or a dry run of one. */
            speed_up?: components["schemas"]["WithdrawalSpeedUp"];
            owner: string | null;
            created_at: number;
            data: {
                [key: string]: unknown;
            };
            error: components["schemas"]["Failure"];
            updated_at?: number;
            deleted?: boolean;
            deleted_at?: number;
        };
        PayingOrder: {
            /** @enum {string} */
            state: "new" | "batched" | "planned" | "signed" | "sent" | "mined" | "done" | "failed" | "dropped" | "canceled";
            /** @description When it came into its state. */
            since: number;
            /** @description Why it waits, or how it ended, without addresses of hosts. */
            error: string | null;
            /** @description Runs that were scheduled for it so far. */
            runs: number;
            attempts: {
                /** @description Null while it is not signed. */
                hash: string | null;
                /** @description The most that it can cost. */
                fee: {
                    asset: string;
                    /** @description An exact decimal. */
                    value: string;
                } | null;
                /** @description When it was first sent. */
                sent_at: number | null;
                /** @description What the nodes said to its bytes. */
                outcome: string | null;
                /** @description It is proven that it will never be mined. */
                dead: boolean;
            }[];
            /** @description The order of the batch whose transaction pays it, with others. */
            batch_order: string | null;
            /** @description Orders of the same sender in no block yet that come first: with a smaller nonce, or whose change it spends. */
            ahead: number;
        };
        /** @description `true`, or the code of the problem that would refuse it. */
        WithdrawalAct: true | ("request.malformed" | "request.invalid" | "query.invalid" | "auth.missing" | "auth.invalid" | "auth.expired" | "auth.revoked" | "auth.credentials" | "credits.exhausted" | "permission.role" | "permission.scope" | "permission.owner" | "realm.not_found" | "key.not_found" | "user.not_found" | "identity.not_found" | "account.not_found" | "address.not_found" | "alias.not_found" | "currency.not_found" | "token.not_found" | "withdrawal.not_found" | "consolidation.not_found" | "deposit.not_found" | "transaction.not_found" | "block.not_found" | "ramp.not_found" | "transfer.not_found" | "message.not_found" | "webhook.not_found" | "delivery.not_found" | "person.not_found" | "company.not_found" | "rate.not_found" | "stop.not_found" | "login.not_found" | "job.not_found" | "problem.not_found" | "route.not_found" | "method.not_allowed" | "request.not_acceptable" | "request.too_large" | "request.media_type" | "balance.insufficient" | "account.frozen" | "account.inactive" | "account.not_enabled" | "account.not_empty" | "account.no_ramp" | "account.asset_mismatch" | "ramp.assets_insufficient" | "ramp.gas_insufficient" | "alias.taken" | "username.taken" | "person.taken" | "company.taken" | "sync.running" | "currency.taken" | "address.assigned" | "rate.unavailable" | "withdrawal.not_cancelable" | "withdrawal.below_fee" | "withdrawal.fee_exceeded" | "user.last_admin" | "transaction.reverted" | "block.closed" | "condition.failed" | "reference.taken" | "asset.suspended" | "token.pending" | "entity.deleted" | "version.conflict" | "stop.active" | "chain.quarantined" | "event.expired" | "transaction.archived" | "time.archived" | "idempotency.key_reused" | "address.invalid" | "asset.unknown" | "asset.no_testnet" | "token.unsupported_chain" | "token.invalid" | "recipient.invalid" | "recipient.missing" | "recipient.no_interaction" | "rate.limited" | "internal" | "extension.disabled" | "upstream.failed" | "chain.not_configured" | "chain.stale" | "service.overloaded" | "upstream.timeout");
        WithdrawalSpeedUp: {
            /** @description What the withdrawal is charged for its fee, in its own asset. */
            fee: {
                /** @description An exact decimal. */
                before: string;
                /** @description An exact decimal. */
                after: string;
            };
            /** @description What the transaction was reckoned to cost when it was charged (`null` where nobody is), and what by the newest prices. In the asset that pays the network. */
            price: {
                asset: string;
                /** @description An exact decimal. */
                before: string | null;
                /** @description An exact decimal. */
                after: string;
            };
            /** @description Whether a sent transaction is replaced; `false` before one is sent. */
            replaces: boolean;
        };
        /** @description Those fields of Withdrawal that `fields` asks for. */
        WithdrawalPart: {
            id?: string;
            source?: {
                /** @description The id; with `populate`, the account itself. */
                account?: string | components["schemas"]["AccountPart"];
                ramp?: string;
                address?: string;
            };
            destination?: {
                address?: string;
                account?: components["schemas"]["AccountPart"];
            };
            asset?: string;
            /** @description An exact decimal. */
            value?: string;
            fee?: {
                /** @enum {string} */
                paid_by?: "sender" | "receiver";
                speed?: components["schemas"]["Speed"];
                /** @description An exact decimal. */
                value?: string;
                gas?: {
                    asset?: string;
                    /** @description An exact decimal. */
                    value?: string;
                };
            };
            max_fee?: components["schemas"]["Decimal"] | null;
            /** @description An exact decimal. */
            amount?: string;
            /** @enum {string} */
            status?: "PROCESSING" | "DONE" | "FAILED" | "CANCELED";
            chain?: {
                hash?: string;
                nonce?: number;
                block?: number | null;
                confirmations?: number;
                explorer_url?: string | null;
            };
            history?: ({
                at?: number;
                /** @enum {string} */
                event?: "created" | "waiting" | "sent" | "sped_up" | "replaced" | "mined" | "done" | "failed" | "canceled" | "found";
            } & {
                [key: string]: unknown;
            })[];
            order?: components["schemas"]["PayingOrderPart"];
            /** @description Of one withdrawal that is read by its id: what the caller may do with it now. Whether balance and gas cover the price of a speed-up is told by its dry run. */
            acts?: {
                cancel?: components["schemas"]["WithdrawalAct"];
                speed_up?: components["schemas"]["WithdrawalAct"];
            };
            speed_up?: components["schemas"]["WithdrawalSpeedUpPart"];
            owner?: string | null;
            created_at?: number;
            data?: {
                [key: string]: unknown;
            };
            error?: components["schemas"]["Failure"];
            updated_at?: number;
            deleted?: boolean;
            deleted_at?: number;
        };
        /** @description Those fields of PayingOrder that `fields` asks for. */
        PayingOrderPart: {
            /** @enum {string} */
            state?: "new" | "batched" | "planned" | "signed" | "sent" | "mined" | "done" | "failed" | "dropped" | "canceled";
            /** @description When it came into its state. */
            since?: number;
            /** @description Why it waits, or how it ended, without addresses of hosts. */
            error?: string | null;
            /** @description Runs that were scheduled for it so far. */
            runs?: number;
            attempts?: {
                /** @description Null while it is not signed. */
                hash?: string | null;
                /** @description The most that it can cost. */
                fee?: {
                    asset?: string;
                    /** @description An exact decimal. */
                    value?: string;
                } | null;
                /** @description When it was first sent. */
                sent_at?: number | null;
                /** @description What the nodes said to its bytes. */
                outcome?: string | null;
                /** @description It is proven that it will never be mined. */
                dead?: boolean;
            }[];
            /** @description The order of the batch whose transaction pays it, with others. */
            batch_order?: string | null;
            /** @description Orders of the same sender in no block yet that come first: with a smaller nonce, or whose change it spends. */
            ahead?: number;
        };
        /** @description Those fields of WithdrawalSpeedUp that `fields` asks for. */
        WithdrawalSpeedUpPart: {
            /** @description What the withdrawal is charged for its fee, in its own asset. */
            fee?: {
                /** @description An exact decimal. */
                before?: string;
                /** @description An exact decimal. */
                after?: string;
            };
            /** @description What the transaction was reckoned to cost when it was charged (`null` where nobody is), and what by the newest prices. In the asset that pays the network. */
            price?: {
                asset?: string;
                /** @description An exact decimal. */
                before?: string | null;
                /** @description An exact decimal. */
                after?: string;
            };
            /** @description Whether a sent transaction is replaced; `false` before one is sent. */
            replaces?: boolean;
        };
        WithdrawalPage: {
            rows: (components["schemas"]["Withdrawal"] | components["schemas"]["WithdrawalPart"])[];
            total: number;
            page: number;
            pageSize: number;
            totalPages: number;
        };
        NewToken: {
            /** @description The ramp account that pays, and gets the supply. */
            account: components["schemas"]["Id"];
            name: string;
            symbol: string;
            supply: components["schemas"]["Amount"];
            decimal_places: number;
        };
        DeployedToken: {
            id: string;
            symbol: string;
            /** @description Empty until the worker has sent it. */
            transaction_hash: string;
            /** @description The most it costs, in the chain's coin. */
            fee: components["schemas"]["Decimal"];
        };
        TokenRegistration: {
            account: components["schemas"]["Id"];
            symbol: string;
            contract_address?: string;
            supply?: components["schemas"]["AmountOrZero"];
            decimal_places?: number;
        };
        RegisteredToken: {
            id: string;
            virtual_currency: string | null;
            contract_address: string | null;
            /** @enum {string} */
            status: "pending" | "deployed" | "registered" | "failed";
        };
        FungibleToken: {
            id: string;
            account: string;
            chain: string;
            name: string | null;
            /**
             * @description With the suffix of its chain.
             * @example GOLD_ETH
             */
            symbol: string;
            supply: components["schemas"]["Decimal"];
            decimalPlaces: number;
            virtualCurrency: string | null;
            contractAddress: string | null;
            /** @description Who may freeze the tokens of holders, as a third party's mint told (Solana). */
            freezeAuthority: string | null;
            /** @description What else its issuer may do, as a third party's mint told (Solana). */
            issuerRights: components["schemas"]["IssuerRights"] | null;
            /** @enum {string} */
            status: "pending" | "deployed" | "registered" | "failed";
            transactionHash: string;
            external: boolean;
            testnet: boolean;
            owner: string;
            data: {
                [key: string]: unknown;
            };
            error: components["schemas"]["Failure"];
            createdAt: number;
            updatedAt: number | null;
            deleted?: boolean;
            deletedAt?: number;
        };
        IssuerRights: {
            /** @description May make more of it. */
            mint: string | null;
            /** @description May move and destroy the tokens of any holder. */
            permanentDelegate: string | null;
            /** @description May stop all transfers. */
            pause: string | null;
            /** @description May end the mint once nothing of it is left. */
            close: string | null;
            /** @description The program that runs at each transfer. */
            transferHook: string | null;
            /** @description Holders may move it in confidence: such transfers are not credited. */
            confidentialTransfers: boolean;
        };
        /** @description Those fields of FungibleToken that `fields` asks for. */
        FungibleTokenPart: {
            id?: string;
            account?: string;
            chain?: string;
            name?: string | null;
            /**
             * @description With the suffix of its chain.
             * @example GOLD_ETH
             */
            symbol?: string;
            supply?: components["schemas"]["Decimal"];
            decimalPlaces?: number;
            virtualCurrency?: string | null;
            contractAddress?: string | null;
            /** @description Who may freeze the tokens of holders, as a third party's mint told (Solana). */
            freezeAuthority?: string | null;
            /** @description What else its issuer may do, as a third party's mint told (Solana). */
            issuerRights?: components["schemas"]["IssuerRightsPart"] | null;
            /** @enum {string} */
            status?: "pending" | "deployed" | "registered" | "failed";
            transactionHash?: string;
            external?: boolean;
            testnet?: boolean;
            owner?: string;
            data?: {
                [key: string]: unknown;
            };
            error?: components["schemas"]["Failure"];
            createdAt?: number;
            updatedAt?: number | null;
            deleted?: boolean;
            deletedAt?: number;
        };
        /** @description Those fields of IssuerRights that `fields` asks for. */
        IssuerRightsPart: {
            /** @description May make more of it. */
            mint?: string | null;
            /** @description May move and destroy the tokens of any holder. */
            permanentDelegate?: string | null;
            /** @description May stop all transfers. */
            pause?: string | null;
            /** @description May end the mint once nothing of it is left. */
            close?: string | null;
            /** @description The program that runs at each transfer. */
            transferHook?: string | null;
            /** @description Holders may move it in confidence: such transfers are not credited. */
            confidentialTransfers?: boolean;
        };
        FungibleTokenPage: {
            rows: (components["schemas"]["FungibleToken"] | components["schemas"]["FungibleTokenPart"])[];
            total: number;
            page: number;
            pageSize: number;
            totalPages: number;
        };
        NewExternalRamp: {
            /**
             * @description Id of the exchange.
             * @example binance
             */
            ramp: string;
            identity: components["schemas"]["Id"];
            authentication: components["schemas"]["ExternalRampAuthentication"];
            /** @default {} */
            data?: components["schemas"]["FreeForm"];
        };
        ExternalRampAuthentication: {
            api_key: string;
            secret: string;
            /** @description Where the exchange asks for one. */
            password?: string;
            /** @description Where the exchange asks for one. */
            uid?: string;
        };
        ExternalRamp: {
            id: string;
            ramp: string;
            /** @description The id; with `populate`, the identity itself. */
            identity: string | components["schemas"]["Identity"];
            /** @description The end of the key; nothing else of it is ever shown. */
            authentication: {
                api_key: string;
            };
            /**
             * @description Whether the exchange accepts the key, as a worker last saw.
             * @enum {string}
             */
            status: "PENDING" | "READY" | "REFUSED";
            /** @description When the exchange accepted the key last, or refused it. */
            checked_at: number | null;
            /** @description When it is asked again: ever later while it fails or refuses, within an hour. */
            check_at: number;
            /** @description Checks in a row that failed, or that the exchange refused. */
            failures: number;
            owner: string | null;
            created_at: number;
            data: {
                [key: string]: unknown;
            };
            error: components["schemas"]["Failure"];
            updated_at?: number;
            deleted?: boolean;
            deleted_at?: number;
        };
        Exchange: {
            id: string;
            name: string;
            countries: string[];
            /** @description The parts of its authentication. */
            requires: string[];
        };
        /** @description Those fields of ExternalRamp that `fields` asks for. */
        ExternalRampPart: {
            id?: string;
            ramp?: string;
            /** @description The id; with `populate`, the identity itself. */
            identity?: string | components["schemas"]["IdentityPart"];
            /** @description The end of the key; nothing else of it is ever shown. */
            authentication?: {
                api_key?: string;
            };
            /**
             * @description Whether the exchange accepts the key, as a worker last saw.
             * @enum {string}
             */
            status?: "PENDING" | "READY" | "REFUSED";
            /** @description When the exchange accepted the key last, or refused it. */
            checked_at?: number | null;
            /** @description When it is asked again: ever later while it fails or refuses, within an hour. */
            check_at?: number;
            /** @description Checks in a row that failed, or that the exchange refused. */
            failures?: number;
            owner?: string | null;
            created_at?: number;
            data?: {
                [key: string]: unknown;
            };
            error?: components["schemas"]["Failure"];
            updated_at?: number;
            deleted?: boolean;
            deleted_at?: number;
        };
        ExternalRampPage: {
            rows: (components["schemas"]["ExternalRamp"] | components["schemas"]["ExternalRampPart"])[];
            total: number;
            page: number;
            pageSize: number;
            totalPages: number;
        };
        ExternalRampChange: {
            authentication?: components["schemas"]["ExternalRampAuthentication"];
            data?: components["schemas"]["FreeForm"];
        };
        ExchangeAsset: {
            asset: string;
            currency: string;
            network: string;
            /** @description Whether the exchange pays it out to an account. */
            deposit: boolean;
            /** @description Whether the exchange takes it. */
            withdraw: boolean;
            /** @description The least that the exchange pays out. */
            minimum: components["schemas"]["Decimal"] | null;
            /** @description What it asks for that. */
            fee: components["schemas"]["Decimal"] | null;
            /** @description The least that the exchange credits of what is paid to it. */
            withdraw_minimum: components["schemas"]["Decimal"] | null;
            decimals: number;
        };
        NewRampDeposit: {
            /** @description A virtual account with a ramp, a ramp or a deposit account. */
            account: components["schemas"]["Id"];
            asset: string;
            value: components["schemas"]["Amount"];
            /** @default {} */
            data?: components["schemas"]["FreeForm"];
        };
        RampTransfer: {
            id: string;
            ramp: string;
            /** @enum {string} */
            kind: "deposit" | "withdraw";
            account: string;
            asset: string;
            value: components["schemas"]["Decimal"];
            /** @description Of a withdraw: that of its withdrawal. */
            max_fee: components["schemas"]["Decimal"] | null;
            address: string | null;
            /**
             * @description `UNCLEAR` waits for a person: the exchange cannot tell what became of it.
             * @enum {string}
             */
            status: "PROCESSING" | "UNCLEAR" | "DONE" | "FAILED";
            reason: string | null;
            /** @description The end at the exchange, as it tells it. */
            exchange: {
                currency: string;
                network: string;
                reference: string | null;
                status: string | null;
                amount: components["schemas"]["Decimal"] | null;
                fee: components["schemas"]["Decimal"] | null;
            };
            /** @description The ids of its payment that persons named, oldest first. */
            claims: {
                reference: string;
                by: string;
                at: number;
            }[];
            hash: string | null;
            deposit: string | null;
            withdrawal: string | null;
            owner: string | null;
            created_at: number;
            updated_at?: number;
            data: {
                [key: string]: unknown;
            };
            error: components["schemas"]["Failure"];
        };
        NewRampWithdraw: {
            account: components["schemas"]["Id"];
            asset: string;
            value: components["schemas"]["Amount"];
            /**
             * @default {
             *       "paid_by": "sender",
             *       "speed": "medium"
             *     }
             */
            fee?: {
                /**
                 * @default sender
                 * @enum {string}
                 */
                paid_by?: "sender" | "receiver";
                /** @default medium */
                speed?: components["schemas"]["Speed"];
            };
            /** @description The most that is paid for fees, in whole units of the account's asset, also where the transaction fails. Refused with `condition.failed` above it. Unset: whatever the fee is. */
            max_fee?: components["schemas"]["AmountOrZero"];
            /** @description The address that the exchange is expected to name; with another it fails. */
            address?: string;
            /** @default {} */
            data?: components["schemas"]["FreeForm"];
        };
        RampTransferPage: {
            rows: components["schemas"]["RampTransfer"][];
            total: number;
            page: number;
            pageSize: number;
            totalPages: number;
        };
        TransferResolution: {
            /**
             * @description `sent`: the exchange pays under `reference`; again with another where that was mistyped. `done`: the exchange has credited it. `failed`: it neither pays nor credits it.
             * @enum {string}
             */
            outcome: "sent" | "done" | "failed";
            /** @description The exchange's id of it; with `sent`. */
            reference?: string;
        };
        Found: {
            /** @enum {string} */
            kind: "user" | "identity" | "account" | "alias" | "currency" | "transaction" | "deposit" | "unmatched" | "withdrawal";
            id: string;
            /** @description Its name, its reference or its amount. */
            title: string;
            subtitle: string;
            /**
             * @description What of it equals or begins with the text.
             * @enum {string}
             */
            match: "id" | "username" | "email" | "contact" | "alias" | "name" | "reference" | "hash" | "address" | "destination";
        };
        Solvency: {
            asset: string;
            testnet: boolean;
            /** @description At the addresses of the ramps, at the height. */
            assets: components["schemas"]["Decimal"];
            height: number;
            /** @description Owed to accounts up to the position, without payments on their way. */
            liabilities: components["schemas"]["Decimal"];
            /** @description Earned by the house; below 0, lost. Covers nothing. */
            fees: components["schemas"]["Decimal"];
            /** @description The last transaction included. */
            position: string | null;
            /** @description On the chain and not credited yet. */
            pending: components["schemas"]["Decimal"];
            /** @description Set aside for orders that may have been broadcast and are in no chain block up to the height. */
            sending: components["schemas"]["Decimal"];
            /** @description Assets less pending, sending, liabilities and fees. Below 0, something is missing; above 0, something is there that nothing explains. */
            drift: components["schemas"]["Decimal"];
            /** @description Nothing is missing, and assets less pending and sending cover the liabilities. */
            solvent: boolean;
            ramps: {
                ramp: string;
                assets: components["schemas"]["Decimal"];
                liabilities: components["schemas"]["Decimal"];
            }[];
            checked_at: number;
        };
        SolvencyHistory: {
            asset: string;
            testnet: boolean;
            from: number;
            to: number;
            points: {
                checked_at: number;
                height: number;
                assets: components["schemas"]["Decimal"];
                liabilities: components["schemas"]["Decimal"];
                fees: components["schemas"]["Decimal"];
                pending: components["schemas"]["Decimal"];
                sending: components["schemas"]["Decimal"];
                drift: components["schemas"]["Decimal"];
                solvent: boolean;
            }[];
        };
        Cover: {
            /** @description A ramp or virtual account whose owner and holder run the realm. */
            account: components["schemas"]["Id"];
            /** @description All that the house has lost, unless given. */
            amount?: components["schemas"]["Amount"];
            reason: string;
            /** @description With the platform key: the realm of the account. */
            realm?: components["schemas"]["Id"];
        };
        CoveredLoss: {
            transaction: string;
            account: string;
            asset: string;
            testnet: boolean;
            amount: components["schemas"]["Decimal"];
            /** @description The rest of the house's loss in the asset. */
            loss: components["schemas"]["Decimal"];
            reason: string;
            created_at: number;
        };
        WriteOff: {
            asset: string;
            /** @description A boolean; its name as a string is taken too. */
            testnet?: boolean;
            /** @description All that is missing, unless given. */
            amount?: components["schemas"]["Amount"];
            reason: string;
            /** @description With the platform key: the realm. */
            realm?: components["schemas"]["Id"];
        };
        WrittenOff: {
            transaction: string;
            asset: string;
            testnet: boolean;
            amount: components["schemas"]["Decimal"];
            /** @description The rest that may be written off. */
            missing: components["schemas"]["Decimal"];
            /** @description What the house has lost in the asset, to be covered. */
            loss: components["schemas"]["Decimal"];
            reason: string;
            created_at: number;
        };
        Flows: {
            testnet: boolean;
            /** @enum {string} */
            step: "hour" | "day";
            from: number;
            to: number;
            /** @description All transactions of earlier times are counted. Later ones may wait for their link in the hash chain, and count with it. Null while there is no transaction. */
            complete_to: number | null;
            /** @description Transactions of the realm that wait for their link, and are not counted yet. */
            unsealed: number;
            /** @description In the order of time. Where there were no transactions there is no flow. */
            flows: {
                /**
                 * @description The beginning of the hour or the day (UTC).
                 * @example 1790002800000
                 */
                at: number;
                /** @example BTC */
                asset?: string;
                /** @enum {string} */
                type?: "transfer" | "deposit" | "forward" | "withdrawal" | "return" | "fee" | "issue" | "destroy" | "capture" | "revert";
                /**
                 * @description Into the ledger (deposits, issues), out of it (payments, fees of a network, destructions), or between its accounts.
                 * @enum {string}
                 */
                direction: "in" | "out" | "inside";
                /** @description Transactions. */
                count: number;
                amount?: components["schemas"]["Decimal"];
                /** @description Sums of the fiat values that the transactions have, by currency, and how many have one. A transaction without a rate has none. */
                fiat: {
                    currency: string;
                    value: components["schemas"]["Decimal"];
                    count: number;
                }[];
            }[];
        };
        WithdrawalStatistics: {
            testnet: boolean;
            asset: string | null;
            from: number;
            to: number;
            /** @description Whether all of the range are counted; otherwise the newest are, from `counted_from` on. */
            complete: boolean;
            counted_from: number;
            count: number;
            statuses: {
                PROCESSING: number;
                DONE: number;
                FAILED: number;
                CANCELED: number;
            };
            /** @description `sent`: from its creation until it was sent to the chain; `mined`: from then until it was in a block; `done`: from then until it was deep enough; `total`: all of these. A step that none took is left out. */
            steps: {
                step: string;
                /** @description How many took it. */
                count: number;
                /** @description Milliseconds. */
                p50: number;
                /** @description Milliseconds. */
                p90: number;
                /** @description Milliseconds. */
                p99: number;
                /** @description Milliseconds. */
                max: number;
            }[];
        };
        DepositStatistics: {
            testnet: boolean;
            asset: string | null;
            from: number;
            to: number;
            /** @description Whether all of the range are counted; otherwise the newest are, from `counted_from` on. */
            complete: boolean;
            counted_from: number;
            count: number;
            statuses: {
                PENDING: number;
                CONFIRMED: number;
                ORPHANED: number;
            };
            /**
             * @description Of those that are forwarded or wait for it, by the status of `forward`.
             * @example {
             *       "DONE": 3,
             *       "WAITING": 1
             *     }
             */
            forwards: {
                [key: string]: number;
            };
            /** @description `confirmed`: from when it was first seen until it was credited; `forwarded`: from then until it was forwarded; `total`: both. A step that none took is left out. */
            steps: {
                step: string;
                /** @description How many took it. */
                count: number;
                /** @description Milliseconds. */
                p50: number;
                /** @description Milliseconds. */
                p90: number;
                /** @description Milliseconds. */
                p99: number;
                /** @description Milliseconds. */
                max: number;
            }[];
        };
        NewStop: {
            /** @enum {string} */
            what: "moves" | "signing";
            asset?: string;
            /** @enum {string} */
            chain?: "BITCOIN" | "LITECOIN" | "BITCOIN_CASH" | "DOGECOIN" | "ETHEREUM" | "POLYGON" | "CELO" | "BSC" | "SOLANA" | "TRON";
            /** @description Value that leaves it or comes to it. */
            account?: components["schemas"]["Id"];
            /** @description Its requests, and value that leaves its accounts. */
            user?: components["schemas"]["Id"];
            /** @description The id of an account, or an address. */
            destination?: string;
            reason: string;
            /** @description With the platform key: the realm that it holds for. */
            realm?: components["schemas"]["Id"];
        };
        Stop: {
            id: string;
            /** @enum {string} */
            what: "moves" | "signing";
            asset: string | null;
            chain: string | null;
            account: string | null;
            user: string | null;
            destination: string | null;
            /** @description For users with scope realm. */
            reason?: string;
            active: boolean;
            /** @description The user who set it; null for the operator. */
            owner: string | null;
            created_at: number;
            /** @description The user who lifted it; null for the operator. */
            lifted_by: string | null;
            lifted_at: number | null;
            data: {
                [key: string]: unknown;
            };
            error: components["schemas"]["Failure"];
        };
        /** @description Those fields of Stop that `fields` asks for. */
        StopPart: {
            id?: string;
            /** @enum {string} */
            what?: "moves" | "signing";
            asset?: string | null;
            chain?: string | null;
            account?: string | null;
            user?: string | null;
            destination?: string | null;
            /** @description For users with scope realm. */
            reason?: string;
            active?: boolean;
            /** @description The user who set it; null for the operator. */
            owner?: string | null;
            created_at?: number;
            /** @description The user who lifted it; null for the operator. */
            lifted_by?: string | null;
            lifted_at?: number | null;
            data?: {
                [key: string]: unknown;
            };
            error?: components["schemas"]["Failure"];
        };
        StopPage: {
            rows: (components["schemas"]["Stop"] | components["schemas"]["StopPart"])[];
            total: number;
            page: number;
            pageSize: number;
            totalPages: number;
        };
        Job: {
            id: string;
            name: string;
            /** @description What it is about: ids. */
            payload: {
                [key: string]: string | null;
            };
            /** @enum {string} */
            state: "ready" | "running" | "done" | "dead" | "discarded";
            /** @description Ready, and due for over a minute. */
            late: boolean;
            attempts: number;
            attempts_max: number;
            /** @description How the last attempt failed, without addresses of hosts. */
            error: string | null;
            /** @description Of one that is ready. */
            due_at: number | null;
            /** @description Until when the worker that runs it holds it; workers prolong that. */
            leased_until: number | null;
            discarded: {
                by: string | null;
                reason: string;
            } | null;
            finished_at: number | null;
            created_at: number;
        };
        DiscardJob: {
            reason: string;
        };
        NewNote: {
            /** @description The id of an account, identity, user, transaction, deposit or withdrawal. */
            entity: components["schemas"]["Id"];
            text: string;
            /**
             * @description A word of the realm's own. A reason given with `freeze`, `unfreeze`, `deactivate` or `activate` is a note of that kind.
             * @default note
             */
            kind?: string;
        };
        Note: {
            id: string;
            /** @enum {string} */
            collection: "accounts" | "deposits" | "identities" | "transactions" | "users" | "withdrawals";
            entity: string;
            kind: string;
            /** @description Null after the person that it was about was forgotten. */
            text: string | null;
            /** @description The user who wrote it. */
            owner: string;
            created_at: number;
            erased_at?: number;
        };
        NewWebhook: {
            /**
             * @description https, and a host of the public internet.
             * @example https://example.com/purser
             */
            url: string;
            /**
             * @description Types of events, or `*` for all, also those of later versions.
             * @example [
             *       "deposit.confirmed"
             *     ]
             */
            events: ("account.enabled" | "transaction.created" | "deposit.pending" | "deposit.confirmed" | "deposit.orphaned" | "deposit.forwarded" | "app.deposit.updated" | "withdrawal.updated" | "withdrawal.stuck" | "token.deployed" | "message.updated" | "persons.sync.finished" | "solvency.drift" | "chain.quarantined" | "chain.halted" | "chain.lagging" | "ramp.cost_limited" | "ramp.gas_insufficient" | "address.paused" | "ramp.transfer.updated" | "stop.set" | "stop.lifted" | "coin.corrected" | "job.dead" | "webhook.disabled" | "*")[];
            /** @default {} */
            data?: components["schemas"]["FreeForm"];
        };
        WebhookWithSecret: {
            id: string;
            url: string;
            events: string[];
            active: boolean;
            /** @description Why the service deactivated it: it failed for three days, or answered 410. */
            disabled_reason: ("failing" | "gone") | null;
            /** @description Since when every delivery has failed. */
            failing_since: number | null;
            /** @description Until when deliveries carry a signature by the secret before, too. */
            previous_secret_until: number | null;
            owner: string | null;
            created_at: number;
            data: {
                [key: string]: unknown;
            };
            error: components["schemas"]["Failure"];
            updated_at?: number;
            deleted?: boolean;
            deleted_at?: number;
            /** @example whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw */
            secret: string;
        };
        Webhook: {
            id: string;
            url: string;
            events: string[];
            active: boolean;
            /** @description Why the service deactivated it: it failed for three days, or answered 410. */
            disabled_reason: ("failing" | "gone") | null;
            /** @description Since when every delivery has failed. */
            failing_since: number | null;
            /** @description Until when deliveries carry a signature by the secret before, too. */
            previous_secret_until: number | null;
            owner: string | null;
            created_at: number;
            data: {
                [key: string]: unknown;
            };
            error: components["schemas"]["Failure"];
            updated_at?: number;
            deleted?: boolean;
            deleted_at?: number;
        };
        /** @description Those fields of Webhook that `fields` asks for. */
        WebhookPart: {
            id?: string;
            url?: string;
            events?: string[];
            active?: boolean;
            /** @description Why the service deactivated it: it failed for three days, or answered 410. */
            disabled_reason?: ("failing" | "gone") | null;
            /** @description Since when every delivery has failed. */
            failing_since?: number | null;
            /** @description Until when deliveries carry a signature by the secret before, too. */
            previous_secret_until?: number | null;
            owner?: string | null;
            created_at?: number;
            data?: {
                [key: string]: unknown;
            };
            error?: components["schemas"]["Failure"];
            updated_at?: number;
            deleted?: boolean;
            deleted_at?: number;
        };
        WebhookPage: {
            rows: (components["schemas"]["Webhook"] | components["schemas"]["WebhookPart"])[];
            total: number;
            page: number;
            pageSize: number;
            totalPages: number;
        };
        WebhookChange: {
            /**
             * @description https, and a host of the public internet.
             * @example https://example.com/purser
             */
            url?: string;
            /**
             * @description Types of events, or `*` for all, also those of later versions.
             * @example [
             *       "deposit.confirmed"
             *     ]
             */
            events?: ("account.enabled" | "transaction.created" | "deposit.pending" | "deposit.confirmed" | "deposit.orphaned" | "deposit.forwarded" | "app.deposit.updated" | "withdrawal.updated" | "withdrawal.stuck" | "token.deployed" | "message.updated" | "persons.sync.finished" | "solvency.drift" | "chain.quarantined" | "chain.halted" | "chain.lagging" | "ramp.cost_limited" | "ramp.gas_insufficient" | "address.paused" | "ramp.transfer.updated" | "stop.set" | "stop.lifted" | "coin.corrected" | "job.dead" | "webhook.disabled" | "*")[];
            /** @description A boolean; its name as a string is taken too. */
            active?: boolean;
            data?: components["schemas"]["FreeForm"];
        };
        SecretRotation: {
            /**
             * @description How long deliveries carry a signature by the secret before, too.
             * @default 24
             */
            hours?: number;
        };
        WebhookTest: {
            webhook: string;
            /** @constant */
            type: "webhook.test";
            /** @constant */
            status: "PENDING";
        };
        Delivery: {
            id: string;
            webhook: string;
            /** @description The header `webhook-id` of each attempt. */
            webhook_id: string;
            type: string;
            entity: string;
            /** @enum {string} */
            status: "PENDING" | "DELIVERED" | "FAILED";
            attempts: number;
            next_attempt_at: number | null;
            last_attempt_at: number | null;
            /** @description Of the last attempt. */
            latency_ms: number | null;
            response: {
                status: number;
                /** @description Its first 1024 bytes. */
                body: string;
            } | null;
            /** @description Why the last attempt failed. */
            failure: string | null;
            created_at: number;
        };
        ResendSpan: {
            /** @description Milliseconds since the epoch. */
            from: number;
            /** @description Included; until now unless given. */
            to?: number;
        };
        Resent: {
            resent: number;
        };
        Event: {
            id: string;
            type: string;
            /**
             * Format: date-time
             * @description When it happened (ISO 8601).
             */
            timestamp: string;
            /** @description The entity that it is about. */
            entity: string;
            /** @description The entity as its route shows it, or its id alone beyond 20 kB. */
            data: {
                [key: string]: unknown;
            };
            owner: string | null;
            created_at: number;
        };
        Health: {
            /**
             * @description `degraded`: it serves, and something in `checks` waits for an operator.
             * @enum {string}
             */
            status: "ok" | "degraded" | "unavailable";
            checks?: {
                [key: string]: unknown;
            };
        };
    };
    responses: {
        /** @description Success */
        Session: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Session"];
            };
        };
        /** @description Success */
        WebhookTaken: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["WebhookTaken"];
            };
        };
        /** @description Success */
        MessageProcessingStatus: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["MessageProcessingStatus"];
            };
        };
        /** @description Success */
        Count: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": number;
            };
        };
        /** @description Success */
        Count2: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": number;
            };
        };
        /** @description Success */
        User: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["User"];
            };
        };
        /** @description Success */
        Totp: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Totp"];
            };
        };
        /** @description Success */
        LoginList: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Login"][];
            };
        };
        /** @description Success */
        Answer2: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": {
                    id: string;
                    ended: number;
                };
            };
        };
        /** @description Success */
        Company: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Company"];
            };
        };
        /** @description Success */
        PersonIdentity: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["PersonIdentity"];
            };
        };
        /** @description Success */
        Identity: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Identity"];
            };
        };
        /** @description Success */
        Identity2: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Identity"];
            };
        };
        /** @description Success */
        DepositApplication: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["DepositApplication"];
            };
        };
        /** @description Success */
        DepositApplication2: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["DepositApplication"];
            };
        };
        /** @description Success */
        Account: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Account"];
            };
        };
        /** @description Success */
        Block: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Block"];
            };
        };
        /** @description Success */
        Transaction: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Transaction"];
            };
        };
        /** @description Success */
        Alias: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Alias"];
            };
        };
        /** @description Success */
        Currency: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Currency"];
            };
        };
        /** @description Success */
        Withdrawal: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Withdrawal"];
            };
        };
        /** @description Success */
        ExternalRamp: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["ExternalRamp"];
            };
        };
        /** @description Success */
        RampTransfer: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["RampTransfer"];
            };
        };
        /** @description Success */
        Job: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Job"];
            };
        };
        /** @description Success */
        Webhook: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Webhook"];
            };
        };
        /** @description Success */
        Answer4: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "text/html": string;
            };
        };
        /** @description Success */
        Health: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Health"];
            };
        };
    };
    parameters: {
        /** @description A repeat with the same key gets the same answer and changes nothing; also a refusal is kept. Kept for 7 days. */
        "idempotency-key": string;
        limit: number;
        id: string;
        /** @description `etag` of an answer that is known: 304 where it would be the same. */
        "if-none-match": string;
        /** @description `etag` of the version that is to be changed; another one is refused with 409. */
        "if-match": string;
        /** @description A condition as JSON text: see the query language above. */
        query: string;
        /** @description Text that must be contained, in upper or lower case. */
        search: string;
        /** @description Fields that are searched; those of text unless given. */
        searchFields: string[];
        /** @description The owners, and deleted entities. Lists show the user's own entities unless `all` is given, which takes a user of scope realm. `deleted` asks for deleted ones alone, `false` for both. */
        scope: ("own" | "all" | "-own" | "-all" | "deleted" | "-deleted" | "true" | "false")[];
        /** @description Fields to answer with, dotted into objects; all unless given. */
        fields: string[];
        /** @description Fields in order, with `-` before one to descend; `created_at` unless given. */
        sort: string[];
        /** @description Nothing of these can be populated. */
        populate: "false"[];
        /** @description Most entities of the answer; 1000 unless given. */
        limit2: number;
        /** @description Number of entities that are skipped first. */
        offset: number;
        /** @description The id of the last one before: paging without a bound. */
        after: string;
        /** @description `read=primary`: no replica answers, so the answer shows all that was written. */
        prefer: string;
        /** @description Which page, from 1. */
        page: number;
        /** @description Rows of a page; 10 unless given. */
        pageSize: number;
        /** @description Fields that are searched; those of text unless given. */
        searchFields2: string[];
        /** @description Fields to answer with, dotted into objects; all unless given. */
        fields2: string[];
        /** @description Fields in order, with `-` before one to descend; `created_at` unless given. */
        sort2: string[];
        /** @description Fields that are searched; those of text unless given. */
        searchFields3: string[];
        /** @description Fields to answer with, dotted into objects; all unless given. */
        fields3: string[];
        /** @description Fields in order, with `-` before one to descend; `created_at` unless given. */
        sort3: string[];
        /** @description Rows of a page; 20 unless given. */
        limit3: number;
        /** @description A condition in the platform's own language, as JSON text. */
        filter: string;
        /** @description Fields that are searched; those of text unless given. */
        searchFields4: string[];
        /** @description Fields to answer with, dotted into objects; all unless given. */
        fields4: string[];
        /** @description Fields in order, with `-` before one to descend; `created_at` unless given. */
        sort4: string[];
        /** @description Relations that are shown whole in place of their ids. */
        populate2: ("person" | "company" | "false")[];
        limit4: number;
        /** @description `wait=N`, from 1 to 30 seconds: answers when the entity is ready, or then. */
        prefer2: string;
        external_address: string;
        /** @description Fields that are searched; those of text unless given. */
        searchFields5: string[];
        /** @description Fields to answer with, dotted into objects; all unless given. */
        fields5: string[];
        /** @description Fields in order, with `-` before one to descend; `created_at` unless given. */
        sort5: string[];
        /** @description Relations that are shown whole in place of their ids. */
        populate3: ("source.account" | "destination.account" | "false")[];
        /** @description As `accept` says unless given. */
        format: "json" | "csv";
        /** @description CSV alone, which takes it: milliseconds since the epoch, included. */
        from: number;
        /** @description CSV alone, which takes it: at most 400 days after `from`, included. */
        to: number;
        /** @description Fields that are searched; those of text unless given. */
        searchFields6: string[];
        /** @description Fields to answer with, dotted into objects; all unless given. */
        fields6: string[];
        /** @description Fields in order, with `-` before one to descend; `created_at` unless given. */
        sort6: string[];
        /** @description Fields that are searched; those of text unless given. */
        searchFields7: string[];
        /** @description Fields to answer with, dotted into objects; all unless given. */
        fields7: string[];
        /** @description Fields in order, with `-` before one to descend; `created_at` unless given. */
        sort7: string[];
        /** @description Relations that are shown whole in place of their ids. */
        populate4: ("address" | "holder" | "owner" | "ramp" | "false")[];
        /** @description A boolean; its name as a string is taken too. */
        dry_run: boolean;
        consolidation: string;
        limit5: number;
        /** @description A boolean; its name as a string is taken too. */
        testnet: boolean;
        /** @description Milliseconds since the epoch, included; a day before `to` unless given. */
        from2: number;
        /** @description Milliseconds since the epoch, included; the present unless given. */
        to2: number;
        /** @description How many moments, the first at `from` and the last at `to`. */
        points: number;
        /** @description Milliseconds since the epoch. */
        from3: number;
        /** @description Milliseconds since the epoch. */
        to3: number;
        block: string;
        /** @description Fields that are searched; those of text unless given. */
        searchFields8: string[];
        /** @description Fields to answer with, dotted into objects; all unless given. */
        fields8: string[];
        /** @description Fields in order, with `-` before one to descend; `created_at` unless given. */
        sort8: string[];
        /** @description Relations that are shown whole in place of their ids. */
        populate5: ("account" | "identity" | "false")[];
        /** @description Fields that are searched; those of text unless given. */
        searchFields9: string[];
        /** @description Fields to answer with, dotted into objects; all unless given. */
        fields9: string[];
        /** @description Fields in order, with `-` before one to descend; `created_at` unless given. */
        sort9: string[];
        /** @description Relations that are shown whole in place of their ids. */
        populate6: ("account" | "false")[];
        /** @description Fields to answer with, dotted into objects; all unless given. */
        fields10: string[];
        /** @description The owners, and deleted entities. Lists show the user's own entities unless `all` is given, which takes a user of scope realm. `deleted` asks for deleted ones alone, `false` for both. */
        scope2: ("own" | "all" | "-own" | "-all" | "incoming" | "outgoing" | "-incoming" | "-outgoing" | "deleted" | "-deleted" | "true" | "false")[];
        /** @description Fields that are searched; those of text unless given. */
        searchFields10: string[];
        /** @description Fields in order, with `-` before one to descend; `created_at` unless given. */
        sort10: string[];
        /** @description Fields that are searched; those of text unless given. */
        searchFields11: string[];
        /** @description Fields to answer with, dotted into objects; all unless given. */
        fields11: string[];
        /** @description Fields in order, with `-` before one to descend; `created_at` unless given. */
        sort11: string[];
        /** @description Fields that are searched; those of text unless given. */
        searchFields12: string[];
        /** @description Fields to answer with, dotted into objects; all unless given. */
        fields12: string[];
        /** @description Fields in order, with `-` before one to descend; `created_at` unless given. */
        sort12: string[];
        /** @description Fields that are searched; those of text unless given. */
        searchFields13: string[];
        /** @description Fields to answer with, dotted into objects; all unless given. */
        fields13: string[];
        /** @description Fields in order, with `-` before one to descend; `created_at` unless given. */
        sort13: string[];
        /** @description Relations that are shown whole in place of their ids. */
        populate7: ("identity" | "false")[];
        transfer: string;
        /** @description Those of one asset alone, among the newest 20000 of the range. */
        asset: string;
        /** @description Fields that are searched; those of text unless given. */
        searchFields14: string[];
        /** @description Fields to answer with, dotted into objects; all unless given. */
        fields14: string[];
        /** @description Fields in order, with `-` before one to descend; `created_at` unless given. */
        sort14: string[];
        /** @description Fields that are searched; those of text unless given. */
        searchFields15: string[];
        /** @description Fields to answer with, dotted into objects; all unless given. */
        fields15: string[];
        /** @description Fields in order, with `-` before one to descend; `created_at` unless given. */
        sort15: string[];
        /** @description Events of this type; it may be repeated. */
        type: ("account.enabled" | "transaction.created" | "deposit.pending" | "deposit.confirmed" | "deposit.orphaned" | "deposit.forwarded" | "app.deposit.updated" | "withdrawal.updated" | "withdrawal.stuck" | "token.deployed" | "message.updated" | "persons.sync.finished" | "solvency.drift" | "chain.quarantined" | "chain.halted" | "chain.lagging" | "ramp.cost_limited" | "ramp.gas_insufficient" | "address.paused" | "ramp.transfer.updated" | "stop.set" | "stop.lifted" | "coin.corrected" | "job.dead" | "webhook.disabled" | "webhook.test") | ("account.enabled" | "transaction.created" | "deposit.pending" | "deposit.confirmed" | "deposit.orphaned" | "deposit.forwarded" | "app.deposit.updated" | "withdrawal.updated" | "withdrawal.stuck" | "token.deployed" | "message.updated" | "persons.sync.finished" | "solvency.drift" | "chain.quarantined" | "chain.halted" | "chain.lagging" | "ramp.cost_limited" | "ramp.gas_insufficient" | "address.paused" | "ramp.transfer.updated" | "stop.set" | "stop.lifted" | "coin.corrected" | "job.dead" | "webhook.disabled" | "webhook.test")[];
        /** @description Events about this entity. */
        entity: components["schemas"]["Id"];
    };
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    logInAdministrator: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AdminLogin"];
            };
        };
        responses: {
            200: components["responses"]["Session"];
        };
    };
    logInUser: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["UserLogin"];
            };
        };
        responses: {
            200: components["responses"]["Session"];
        };
    };
    logIn: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["UserLogin"];
            };
        };
        responses: {
            200: components["responses"]["Session"];
        };
    };
    getCurrentUser: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Me"];
                };
            };
        };
    };
    logOut: {
        parameters: {
            query?: never;
            header?: {
                /** @description A repeat with the same key gets the same answer and changes nothing; also a refusal is kept. Kept for 7 days. */
                "idempotency-key"?: components["parameters"]["idempotency-key"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        revoked: true;
                    };
                };
            };
        };
    };
    listPublicKeys: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        keys: {
                            [key: string]: unknown;
                        }[];
                    };
                };
            };
        };
    };
    listRealms: {
        parameters: {
            query?: {
                after?: string;
                limit?: components["parameters"]["limit"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Realm"][];
                };
            };
        };
    };
    createRealm: {
        parameters: {
            query?: never;
            header?: {
                /** @description A repeat with the same key gets the same answer and changes nothing; also a refusal is kept. Kept for 7 days. */
                "idempotency-key"?: components["parameters"]["idempotency-key"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewRealm"];
            };
        };
        responses: {
            /** @description Success */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RealmWithKeys"];
                };
            };
        };
    };
    getRealm: {
        parameters: {
            query?: never;
            header?: {
                /** @description `etag` of an answer that is known: 304 where it would be the same. */
                "if-none-match"?: components["parameters"]["if-none-match"];
            };
            path: {
                id: components["parameters"]["id"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Realm"];
                };
            };
        };
    };
    updateRealm: {
        parameters: {
            query?: never;
            header?: {
                /** @description A repeat with the same key gets the same answer and changes nothing; also a refusal is kept. Kept for 7 days. */
                "idempotency-key"?: components["parameters"]["idempotency-key"];
                /** @description `etag` of the version that is to be changed; another one is refused with 409. */
                "if-match"?: components["parameters"]["if-match"];
            };
            path: {
                id: components["parameters"]["id"];
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["RealmChange"];
            };
        };
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Realm"];
                };
            };
        };
    };
    createRealmKey: {
        parameters: {
            query?: never;
            header?: {
                /** @description A repeat with the same key gets the same answer and changes nothing; also a refusal is kept. Kept for 7 days. */
                "idempotency-key"?: components["parameters"]["idempotency-key"];
            };
            path: {
                id: components["parameters"]["id"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Realm"];
                };
            };
        };
    };
    deletePreviousRealmKeys: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: components["parameters"]["id"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Realm"];
                };
            };
        };
    };
    listApplicationKeys: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: components["parameters"]["id"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ApplicationKey"][];
                };
            };
        };
    };
    createApplicationKey: {
        parameters: {
            query?: never;
            header?: {
                /** @description A repeat with the same key gets the same answer and changes nothing; also a refusal is kept. Kept for 7 days. */
                "idempotency-key"?: components["parameters"]["idempotency-key"];
            };
            path: {
                id: components["parameters"]["id"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NewApplicationKey"];
                };
            };
        };
    };
    deleteApplicationKey: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: components["parameters"]["id"];
                key: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ApplicationKey"];
                };
            };
        };
    };
    getAvailableCredits: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: components["parameters"]["id"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        credits: number;
                    };
                };
            };
        };
    };
    createRealmUser: {
        parameters: {
            query?: never;
            header?: {
                /** @description A repeat with the same key gets the same answer and changes nothing; also a refusal is kept. Kept for 7 days. */
                "idempotency-key"?: components["parameters"]["idempotency-key"];
            };
            path: {
                id: components["parameters"]["id"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewUser"];
            };
        };
        responses: {
            /** @description Success */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["User"];
                };
            };
        };
    };
    listAuditLines: {
        parameters: {
            query?: {
                limit?: components["parameters"]["limit"];
                /** @description The last line of the page before. */
                after?: string;
                sort?: "created_at" | "-created_at";
                /** @description A user's id. */
                actor?: string;
                /** @description A method and path such as `POST /v1/accounts`, or `transaction.transfer`. */
                action?: string;
                /** @description The id of the changed entity. */
                entity?: string;
                /** @description The id of a machine's key. */
                key?: string;
                /** @description Epoch milliseconds, included. */
                from?: number;
                /** @description Epoch milliseconds, included. */
                to?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AuditLine"][];
                };
            };
        };
    };
    recordDeliveryReports: {
        parameters: {
            query?: never;
            header?: {
                /** @description A repeat with the same key gets the same answer and changes nothing; also a refusal is kept. Kept for 7 days. */
                "idempotency-key"?: components["parameters"]["idempotency-key"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["DeliveryReports"];
            };
        };
        responses: {
            200: components["responses"]["WebhookTaken"];
        };
    };
    recordWhatsAppMessages: {
        parameters: {
            query?: never;
            header?: {
                /** @description A repeat with the same key gets the same answer and changes nothing; also a refusal is kept. Kept for 7 days. */
                "idempotency-key"?: components["parameters"]["idempotency-key"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["InboundMessages"];
            };
        };
        responses: {
            200: components["responses"]["WebhookTaken"];
        };
    };
    sendSmsToAnyone: {
        parameters: {
            query?: never;
            header?: {
                /** @description A repeat with the same key gets the same answer and changes nothing; also a refusal is kept. Kept for 7 days. */
                "idempotency-key"?: components["parameters"]["idempotency-key"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewSmsToAnyone"];
            };
        };
        responses: {
            201: components["responses"]["MessageProcessingStatus"];
        };
    };
    sendWhatsAppToAnyone: {
        parameters: {
            query?: never;
            header?: {
                /** @description A repeat with the same key gets the same answer and changes nothing; also a refusal is kept. Kept for 7 days. */
                "idempotency-key"?: components["parameters"]["idempotency-key"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewWhatsAppToAnyone"];
            };
        };
        responses: {
            201: components["responses"]["MessageProcessingStatus"];
        };
    };
    sendEmailToAnyone: {
        parameters: {
            query?: never;
            header?: {
                /** @description A repeat with the same key gets the same answer and changes nothing; also a refusal is kept. Kept for 7 days. */
                "idempotency-key"?: components["parameters"]["idempotency-key"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewEmailToAnyone"];
            };
        };
        responses: {
            201: components["responses"]["MessageProcessingStatus"];
        };
    };
    sendSmsToUser: {
        parameters: {
            query?: never;
            header?: {
                /** @description A repeat with the same key gets the same answer and changes nothing; also a refusal is kept. Kept for 7 days. */
                "idempotency-key"?: components["parameters"]["idempotency-key"];
            };
            path: {
                id: components["parameters"]["id"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewSmsToUser"];
            };
        };
        responses: {
            201: components["responses"]["MessageProcessingStatus"];
        };
    };
    sendWhatsAppToUser: {
        parameters: {
            query?: never;
            header?: {
                /** @description A repeat with the same key gets the same answer and changes nothing; also a refusal is kept. Kept for 7 days. */
                "idempotency-key"?: components["parameters"]["idempotency-key"];
            };
            path: {
                id: components["parameters"]["id"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewWhatsAppToUser"];
            };
        };
        responses: {
            201: components["responses"]["MessageProcessingStatus"];
        };
    };
    sendEmailToUser: {
        parameters: {
            query?: never;
            header?: {
                /** @description A repeat with the same key gets the same answer and changes nothing; also a refusal is kept. Kept for 7 days. */
                "idempotency-key"?: components["parameters"]["idempotency-key"];
            };
            path: {
                id: components["parameters"]["id"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewEmailToUser"];
            };
        };
        responses: {
            201: components["responses"]["MessageProcessingStatus"];
        };
    };
    sendSmsToPerson: {
        parameters: {
            query?: never;
            header?: {
                /** @description A repeat with the same key gets the same answer and changes nothing; also a refusal is kept. Kept for 7 days. */
                "idempotency-key"?: components["parameters"]["idempotency-key"];
            };
            path: {
                id: components["parameters"]["id"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewSmsToPerson"];
            };
        };
        responses: {
            201: components["responses"]["MessageProcessingStatus"];
        };
    };
    sendWhatsAppToPerson: {
        parameters: {
            query?: never;
            header?: {
                /** @description A repeat with the same key gets the same answer and changes nothing; also a refusal is kept. Kept for 7 days. */
                "idempotency-key"?: components["parameters"]["idempotency-key"];
            };
            path: {
                id: components["parameters"]["id"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewWhatsAppToPerson"];
            };
        };
        responses: {
            201: components["responses"]["MessageProcessingStatus"];
        };
    };
    sendEmailToPerson: {
        parameters: {
            query?: never;
            header?: {
                /** @description A repeat with the same key gets the same answer and changes nothing; also a refusal is kept. Kept for 7 days. */
                "idempotency-key"?: components["parameters"]["idempotency-key"];
            };
            path: {
                id: components["parameters"]["id"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewEmailToPerson"];
            };
        };
        responses: {
            201: components["responses"]["MessageProcessingStatus"];
        };
    };
    findMessages: {
        parameters: {
            query?: {
                /** @description A condition as JSON text: see the query language above. */
                query?: components["parameters"]["query"];
                /** @description Text that must be contained, in upper or lower case. */
                search?: components["parameters"]["search"];
                /** @description Fields that are searched; those of text unless given. */
                searchFields?: components["parameters"]["searchFields"];
                /** @description The owners, and deleted entities. Lists show the user's own entities unless `all` is given, which takes a user of scope realm. `deleted` asks for deleted ones alone, `false` for both. */
                scope?: components["parameters"]["scope"];
                /** @description Fields to answer with, dotted into objects; all unless given. */
                fields?: components["parameters"]["fields"];
                /** @description Fields in order, with `-` before one to descend; `created_at` unless given. */
                sort?: components["parameters"]["sort"];
                /** @description Nothing of these can be populated. */
                populate?: components["parameters"]["populate"];
                /** @description Most entities of the answer; 1000 unless given. */
                limit?: components["parameters"]["limit2"];
                /** @description Number of entities that are skipped first. */
                offset?: components["parameters"]["offset"];
                /** @description The id of the last one before: paging without a bound. */
                after?: components["parameters"]["after"];
            };
            header?: {
                /** @description `read=primary`: no replica answers, so the answer shows all that was written. */
                prefer?: components["parameters"]["prefer"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": (components["schemas"]["Message"] | components["schemas"]["MessagePart"])[];
                };
            };
        };
    };
    listMessages: {
        parameters: {
            query?: {
                /** @description A condition as JSON text: see the query language above. */
                query?: components["parameters"]["query"];
                /** @description Text that must be contained, in upper or lower case. */
                search?: components["parameters"]["search"];
                /** @description Fields that are searched; those of text unless given. */
                searchFields?: components["parameters"]["searchFields"];
                /** @description The owners, and deleted entities. Lists show the user's own entities unless `all` is given, which takes a user of scope realm. `deleted` asks for deleted ones alone, `false` for both. */
                scope?: components["parameters"]["scope"];
                /** @description Fields to answer with, dotted into objects; all unless given. */
                fields?: components["parameters"]["fields"];
                /** @description Fields in order, with `-` before one to descend; `created_at` unless given. */
                sort?: components["parameters"]["sort"];
                /** @description Nothing of these can be populated. */
                populate?: components["parameters"]["populate"];
                /** @description Which page, from 1. */
                page?: components["parameters"]["page"];
                /** @description Rows of a page; 10 unless given. */
                pageSize?: components["parameters"]["pageSize"];
            };
            header?: {
                /** @description `read=primary`: no replica answers, so the answer shows all that was written. */
                prefer?: components["parameters"]["prefer"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MessagePage"];
                };
            };
        };
    };
    countMessages: {
        parameters: {
            query?: {
                /** @description A condition as JSON text: see the query language above. */
                query?: components["parameters"]["query"];
                /** @description Text that must be contained, in upper or lower case. */
                search?: components["parameters"]["search"];
                /** @description Fields that are searched; those of text unless given. */
                searchFields?: components["parameters"]["searchFields"];
                /** @description The owners, and deleted entities. Lists show the user's own entities unless `all` is given, which takes a user of scope realm. `deleted` asks for deleted ones alone, `false` for both. */
                scope?: components["parameters"]["scope"];
            };
            header?: {
                /** @description `read=primary`: no replica answers, so the answer shows all that was written. */
                prefer?: components["parameters"]["prefer"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: components["responses"]["Count"];
        };
    };
    getMessage: {
        parameters: {
            query?: {
                /** @description Fields to answer with, dotted into objects; all unless given. */
                fields?: components["parameters"]["fields"];
                /** @description The owners, and deleted entities. Lists show the user's own entities unless `all` is given, which takes a user of scope realm. `deleted` asks for deleted ones alone, `false` for both. */
                scope?: components["parameters"]["scope"];
                /** @description Nothing of these can be populated. */
                populate?: components["parameters"]["populate"];
            };
            header?: {
                /** @description `etag` of an answer that is known: 304 where it would be the same. */
                "if-none-match"?: components["parameters"]["if-none-match"];
            };
            path: {
                id: components["parameters"]["id"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Message"] | components["schemas"]["MessagePart"];
                };
            };
        };
    };
    updateMessage: {
        parameters: {
            query?: never;
            header?: {
                /** @description A repeat with the same key gets the same answer and changes nothing; also a refusal is kept. Kept for 7 days. */
                "idempotency-key"?: components["parameters"]["idempotency-key"];
                /** @description `etag` of the version that is to be changed; another one is refused with 409. */
                "if-match"?: components["parameters"]["if-match"];
            };
            path: {
                id: components["parameters"]["id"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["MessageChange"];
            };
        };
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Message"];
                };
            };
        };
    };
    listUsers: {
        parameters: {
            query?: {
                /** @description A condition as JSON text: see the query language above. */
                query?: components["parameters"]["query"];
                /** @description Text that must be contained, in upper or lower case. */
                search?: components["parameters"]["search"];
                /** @description Fields that are searched; those of text unless given. */
                searchFields?: components["parameters"]["searchFields2"];
                /** @description The owners, and deleted entities. Lists show the user's own entities unless `all` is given, which takes a user of scope realm. `deleted` asks for deleted ones alone, `false` for both. */
                scope?: components["parameters"]["scope"];
                /** @description Fields to answer with, dotted into objects; all unless given. */
                fields?: components["parameters"]["fields2"];
                /** @description Fields in order, with `-` before one to descend; `created_at` unless given. */
                sort?: components["parameters"]["sort2"];
                /** @description Nothing of these can be populated. */
                populate?: components["parameters"]["populate"];
                /** @description Which page, from 1. */
                page?: components["parameters"]["page"];
                /** @description Rows of a page; 10 unless given. */
                pageSize?: components["parameters"]["pageSize"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UserPage"];
                };
            };
        };
    };
    createUser: {
        parameters: {
            query?: never;
            header?: {
                /** @description A repeat with the same key gets the same answer and changes nothing; also a refusal is kept. Kept for 7 days. */
                "idempotency-key"?: components["parameters"]["idempotency-key"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewUser"];
            };
        };
        responses: {
            /** @description Success */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["User"];
                };
            };
        };
    };
    findUsers: {
        parameters: {
            query?: {
                /** @description A condition as JSON text: see the query language above. */
                query?: components["parameters"]["query"];
                /** @description Text that must be contained, in upper or lower case. */
                search?: components["parameters"]["search"];
                /** @description Fields that are searched; those of text unless given. */
                searchFields?: components["parameters"]["searchFields2"];
                /** @description The owners, and deleted entities. Lists show the user's own entities unless `all` is given, which takes a user of scope realm. `deleted` asks for deleted ones alone, `false` for both. */
                scope?: components["parameters"]["scope"];
                /** @description Fields to answer with, dotted into objects; all unless given. */
                fields?: components["parameters"]["fields2"];
                /** @description Fields in order, with `-` before one to descend; `created_at` unless given. */
                sort?: components["parameters"]["sort2"];
                /** @description Nothing of these can be populated. */
                populate?: components["parameters"]["populate"];
                /** @description Most entities of the answer; 1000 unless given. */
                limit?: components["parameters"]["limit2"];
                /** @description Number of entities that are skipped first. */
                offset?: components["parameters"]["offset"];
                /** @description The id of the last one before: paging without a bound. */
                after?: components["parameters"]["after"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": (components["schemas"]["User"] | components["schemas"]["UserPart"])[];
                };
            };
        };
    };
    countUsers: {
        parameters: {
            query?: {
                /** @description A condition as JSON text: see the query language above. */
                query?: components["parameters"]["query"];
                /** @description Text that must be contained, in upper or lower case. */
                search?: components["parameters"]["search"];
                /** @description Fields that are searched; those of text unless given. */
                searchFields?: components["parameters"]["searchFields2"];
                /** @description The owners, and deleted entities. Lists show the user's own entities unless `all` is given, which takes a user of scope realm. `deleted` asks for deleted ones alone, `false` for both. */
                scope?: components["parameters"]["scope"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: components["responses"]["Count2"];
        };
    };
    getUser: {
        parameters: {
            query?: {
                /** @description Fields to answer with, dotted into objects; all unless given. */
                fields?: components["parameters"]["fields2"];
                /** @description The owners, and deleted entities. Lists show the user's own entities unless `all` is given, which takes a user of scope realm. `deleted` asks for deleted ones alone, `false` for both. */
                scope?: components["parameters"]["scope"];
                /** @description Nothing of these can be populated. */
                populate?: components["parameters"]["populate"];
            };
            header?: {
                /** @description `etag` of an answer that is known: 304 where it would be the same. */
                "if-none-match"?: components["parameters"]["if-none-match"];
            };
            path: {
                id: components["parameters"]["id"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["User"] | components["schemas"]["UserPart"];
                };
            };
        };
    };
    deleteUser: {
        parameters: {
            query?: never;
            header?: {
                /** @description `etag` of the version that is to be changed; another one is refused with 409. */
                "if-match"?: components["parameters"]["if-match"];
            };
            path: {
                id: components["parameters"]["id"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["User"];
                };
            };
        };
    };
    updateUser: {
        parameters: {
            query?: never;
            header?: {
                /** @description A repeat with the same key gets the same answer and changes nothing; also a refusal is kept. Kept for 7 days. */
                "idempotency-key"?: components["parameters"]["idempotency-key"];
                /** @description `etag` of the version that is to be changed; another one is refused with 409. */
                "if-match"?: components["parameters"]["if-match"];
            };
            path: {
                id: components["parameters"]["id"];
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["UserChange"];
            };
        };
        responses: {
            200: components["responses"]["User"];
        };
    };
    undeleteUser: {
        parameters: {
            query?: never;
            header?: {
                /** @description A repeat with the same key gets the same answer and changes nothing; also a refusal is kept. Kept for 7 days. */
                "idempotency-key"?: components["parameters"]["idempotency-key"];
                /** @description `etag` of the version that is to be changed; another one is refused with 409. */
                "if-match"?: components["parameters"]["if-match"];
            };
            path: {
                id: components["parameters"]["id"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: components["responses"]["User"];
        };
    };
    changePassword: {
        parameters: {
            query?: never;
            header?: {
                /** @description A repeat with the same key gets the same answer and changes nothing; also a refusal is kept. Kept for 7 days. */
                "idempotency-key"?: components["parameters"]["idempotency-key"];
                /** @description `etag` of the version that is to be changed; another one is refused with 409. */
                "if-match"?: components["parameters"]["if-match"];
            };
            path: {
                id: components["parameters"]["id"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewPassword"];
            };
        };
        responses: {
            200: components["responses"]["User"];
        };
    };
    getTotp: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: components["parameters"]["id"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: components["responses"]["Totp"];
        };
    };
    beginTotp: {
        parameters: {
            query?: never;
            header?: {
                /** @description A repeat with the same key gets the same answer and changes nothing; also a refusal is kept. Kept for 7 days. */
                "idempotency-key"?: components["parameters"]["idempotency-key"];
            };
            path: {
                id: components["parameters"]["id"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NewTotp"];
                };
            };
        };
    };
    deleteTotp: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: components["parameters"]["id"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: components["responses"]["Totp"];
        };
    };
    confirmTotp: {
        parameters: {
            query?: never;
            header?: {
                /** @description A repeat with the same key gets the same answer and changes nothing; also a refusal is kept. Kept for 7 days. */
                "idempotency-key"?: components["parameters"]["idempotency-key"];
            };
            path: {
                id: components["parameters"]["id"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["FirstCode"];
            };
        };
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RecoveryCodes"];
                };
            };
        };
    };
    listOwnLogins: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: components["responses"]["LoginList"];
        };
    };
    endOtherLogins: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EndedLogins"];
                };
            };
        };
    };
    endOwnLogin: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: components["parameters"]["id"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: components["responses"]["Answer2"];
        };
    };
    listUserLogins: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: components["parameters"]["id"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: components["responses"]["LoginList"];
        };
    };
    endUserLogins: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: components["parameters"]["id"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: components["responses"]["Answer2"];
        };
    };
    endUserLogin: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: components["parameters"]["id"];
                login: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: components["responses"]["Answer2"];
        };
    };
    listApiKeys: {
        parameters: {
            query?: {
                /** @description A condition as JSON text: see the query language above. */
                query?: components["parameters"]["query"];
                /** @description Text that must be contained, in upper or lower case. */
                search?: components["parameters"]["search"];
                /** @description Fields that are searched; those of text unless given. */
                searchFields?: components["parameters"]["searchFields3"];
                /** @description The owners, and deleted entities. Lists show the user's own entities unless `all` is given, which takes a user of scope realm. `deleted` asks for deleted ones alone, `false` for both. */
                scope?: components["parameters"]["scope"];
                /** @description Fields to answer with, dotted into objects; all unless given. */
                fields?: components["parameters"]["fields3"];
                /** @description Fields in order, with `-` before one to descend; `created_at` unless given. */
                sort?: components["parameters"]["sort3"];
                /** @description Nothing of these can be populated. */
                populate?: components["parameters"]["populate"];
                /** @description Which page, from 1. */
                page?: components["parameters"]["page"];
                /** @description Rows of a page; 10 unless given. */
                pageSize?: components["parameters"]["pageSize"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ApiKeyPage"];
                };
            };
        };
    };
    createApiKey: {
        parameters: {
            query?: never;
            header?: {
                /** @description A repeat with the same key gets the same answer and changes nothing; also a refusal is kept. Kept for 7 days. */
                "idempotency-key"?: components["parameters"]["idempotency-key"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewApiKey"];
            };
        };
        responses: {
            /** @description Success */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ApiKeyWithKey"];
                };
            };
        };
    };
    findApiKeys: {
        parameters: {
            query?: {
                /** @description A condition as JSON text: see the query language above. */
                query?: components["parameters"]["query"];
                /** @description Text that must be contained, in upper or lower case. */
                search?: components["parameters"]["search"];
                /** @description Fields that are searched; those of text unless given. */
                searchFields?: components["parameters"]["searchFields3"];
                /** @description The owners, and deleted entities. Lists show the user's own entities unless `all` is given, which takes a user of scope realm. `deleted` asks for deleted ones alone, `false` for both. */
                scope?: components["parameters"]["scope"];
                /** @description Fields to answer with, dotted into objects; all unless given. */
                fields?: components["parameters"]["fields3"];
                /** @description Fields in order, with `-` before one to descend; `created_at` unless given. */
                sort?: components["parameters"]["sort3"];
                /** @description Nothing of these can be populated. */
                populate?: components["parameters"]["populate"];
                /** @description Most entities of the answer; 1000 unless given. */
                limit?: components["parameters"]["limit2"];
                /** @description Number of entities that are skipped first. */
                offset?: components["parameters"]["offset"];
                /** @description The id of the last one before: paging without a bound. */
                after?: components["parameters"]["after"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": (components["schemas"]["ApiKey"] | components["schemas"]["ApiKeyPart"])[];
                };
            };
        };
    };
    countApiKeys: {
        parameters: {
            query?: {
                /** @description A condition as JSON text: see the query language above. */
                query?: components["parameters"]["query"];
                /** @description Text that must be contained, in upper or lower case. */
                search?: components["parameters"]["search"];
                /** @description Fields that are searched; those of text unless given. */
                searchFields?: components["parameters"]["searchFields3"];
                /** @description The owners, and deleted entities. Lists show the user's own entities unless `all` is given, which takes a user of scope realm. `deleted` asks for deleted ones alone, `false` for both. */
                scope?: components["parameters"]["scope"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: components["responses"]["Count2"];
        };
    };
    getApiKey: {
        parameters: {
            query?: {
                /** @description Fields to answer with, dotted into objects; all unless given. */
                fields?: components["parameters"]["fields3"];
                /** @description The owners, and deleted entities. Lists show the user's own entities unless `all` is given, which takes a user of scope realm. `deleted` asks for deleted ones alone, `false` for both. */
                scope?: components["parameters"]["scope"];
                /** @description Nothing of these can be populated. */
                populate?: components["parameters"]["populate"];
            };
            header?: {
                /** @description `etag` of an answer that is known: 304 where it would be the same. */
                "if-none-match"?: components["parameters"]["if-none-match"];
            };
            path: {
                id: components["parameters"]["id"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ApiKey"] | components["schemas"]["ApiKeyPart"];
                };
            };
        };
    };
    deleteApiKey: {
        parameters: {
            query?: never;
            header?: {
                /** @description `etag` of the version that is to be changed; another one is refused with 409. */
                "if-match"?: components["parameters"]["if-match"];
            };
            path: {
                id: components["parameters"]["id"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ApiKey"];
                };
            };
        };
    };
    listCompanies: {
        parameters: {
            query?: {
                /** @description Rows of a page; 20 unless given. */
                limit?: components["parameters"]["limit3"];
                /** @description Which page, from 1. */
                page?: components["parameters"]["page"];
                /** @description A condition in the platform's own language, as JSON text. */
                filter?: components["parameters"]["filter"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Company"][];
                };
            };
        };
    };
    createCompany: {
        parameters: {
            query?: never;
            header?: {
                /** @description A repeat with the same key gets the same answer and changes nothing; also a refusal is kept. Kept for 7 days. */
                "idempotency-key"?: components["parameters"]["idempotency-key"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewCompany"];
            };
        };
        responses: {
            201: components["responses"]["Company"];
        };
    };
    deleteCompany: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: components["parameters"]["id"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": unknown[];
                };
            };
        };
    };
    changeCompany: {
        parameters: {
            query?: never;
            header?: {
                /** @description A repeat with the same key gets the same answer and changes nothing; also a refusal is kept. Kept for 7 days. */
                "idempotency-key"?: components["parameters"]["idempotency-key"];
            };
            path: {
                id: components["parameters"]["id"];
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["CompanyChange"];
            };
        };
        responses: {
            200: components["responses"]["Company"];
        };
    };
    getCompany: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: components["parameters"]["id"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Company"];
                };
            };
        };
    };
    listPersons: {
        parameters: {
            query?: {
                /** @description Rows of a page; 20 unless given. */
                limit?: components["parameters"]["limit3"];
                /** @description Which page, from 1. */
                page?: components["parameters"]["page"];
                /** @description A condition in the platform's own language, as JSON text. */
                filter?: components["parameters"]["filter"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Person"][];
                };
            };
        };
    };
    listPersonsSyncs: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PersonsSync"][];
                };
            };
        };
    };
    syncPersons: {
        parameters: {
            query?: never;
            header?: {
                /** @description A repeat with the same key gets the same answer and changes nothing; also a refusal is kept. Kept for 7 days. */
                "idempotency-key"?: components["parameters"]["idempotency-key"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["NewPersonsSync"];
            };
        };
        responses: {
            /** @description Success */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PersonsSyncStarted"];
                };
            };
        };
    };
    createPersonIdentity: {
        parameters: {
            query?: never;
            header?: {
                /** @description A repeat with the same key gets the same answer and changes nothing; also a refusal is kept. Kept for 7 days. */
                "idempotency-key"?: components["parameters"]["idempotency-key"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewPersonIdentity"];
            };
        };
        responses: {
            /** @description Success */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PersonIdentity"];
                };
            };
        };
    };
    getPerson: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: components["parameters"]["id"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PersonIdentity"];
                };
            };
        };
    };
    createPerson: {
        parameters: {
            query?: never;
            header?: {
                /** @description A repeat with the same key gets the same answer and changes nothing; also a refusal is kept. Kept for 7 days. */
                "idempotency-key"?: components["parameters"]["idempotency-key"];
            };
            path: {
                id: components["parameters"]["id"];
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["PersonFields"];
            };
        };
        responses: {
            201: components["responses"]["PersonIdentity"];
        };
    };
    deletePerson: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: components["parameters"]["id"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Identity"];
                };
            };
        };
    };
    changePerson: {
        parameters: {
            query?: never;
            header?: {
                /** @description A repeat with the same key gets the same answer and changes nothing; also a refusal is kept. Kept for 7 days. */
                "idempotency-key"?: components["parameters"]["idempotency-key"];
            };
            path: {
                id: components["parameters"]["id"];
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["PersonChange"];
            };
        };
        responses: {
            200: components["responses"]["PersonIdentity"];
        };
    };
    assignPerson: {
        parameters: {
            query?: never;
            header?: {
                /** @description A repeat with the same key gets the same answer and changes nothing; also a refusal is kept. Kept for 7 days. */
                "idempotency-key"?: components["parameters"]["idempotency-key"];
            };
            path: {
                id: components["parameters"]["id"];
                person: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: components["responses"]["Identity"];
        };
    };
    unassignPerson: {
        parameters: {
            query?: never;
            header?: {
                /** @description A repeat with the same key gets the same answer and changes nothing; also a refusal is kept. Kept for 7 days. */
                "idempotency-key"?: components["parameters"]["idempotency-key"];
            };
            path: {
                id: components["parameters"]["id"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: components["responses"]["Identity"];
        };
    };
    createPersonEvent: {
        parameters: {
            query?: never;
            header?: {
                /** @description A repeat with the same key gets the same answer and changes nothing; also a refusal is kept. Kept for 7 days. */
                "idempotency-key"?: components["parameters"]["idempotency-key"];
            };
            path: {
                id: components["parameters"]["id"];
                event: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewPersonEvent"];
            };
        };
        responses: {
            /** @description Success */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PersonEvent"];
                };
            };
        };
    };
    getPersonExport: {
        parameters: {
            query?: {
                /** @description Only custom events before this place. */
                events_before?: components["schemas"]["Id"];
                /** @description Only messages before this place. */
                messages_before?: components["schemas"]["Id"];
            };
            header?: never;
            path: {
                id: components["parameters"]["id"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PersonExport"];
                };
            };
        };
    };
    listIdentities: {
        parameters: {
            query?: {
                /** @description A condition as JSON text: see the query language above. */
                query?: components["parameters"]["query"];
                /** @description Text that must be contained, in upper or lower case. */
                search?: components["parameters"]["search"];
                /** @description Fields that are searched; those of text unless given. */
                searchFields?: components["parameters"]["searchFields4"];
                /** @description The owners, and deleted entities. Lists show the user's own entities unless `all` is given, which takes a user of scope realm. `deleted` asks for deleted ones alone, `false` for both. */
                scope?: components["parameters"]["scope"];
                /** @description Fields to answer with, dotted into objects; all unless given. */
                fields?: components["parameters"]["fields4"];
                /** @description Fields in order, with `-` before one to descend; `created_at` unless given. */
                sort?: components["parameters"]["sort4"];
                /** @description Relations that are shown whole in place of their ids. */
                populate?: components["parameters"]["populate2"];
                /** @description Which page, from 1. */
                page?: components["parameters"]["page"];
                /** @description Rows of a page; 10 unless given. */
                pageSize?: components["parameters"]["pageSize"];
            };
            header?: {
                /** @description `read=primary`: no replica answers, so the answer shows all that was written. */
                prefer?: components["parameters"]["prefer"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["IdentityPage"];
                };
            };
        };
    };
    createIdentity: {
        parameters: {
            query?: never;
            header?: {
                /** @description A repeat with the same key gets the same answer and changes nothing; also a refusal is kept. Kept for 7 days. */
                "idempotency-key"?: components["parameters"]["idempotency-key"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["NewIdentityWithAlias"];
            };
        };
        responses: {
            /** @description Success */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Identity"];
                };
            };
        };
    };
    findIdentities: {
        parameters: {
            query?: {
                /** @description A condition as JSON text: see the query language above. */
                query?: components["parameters"]["query"];
                /** @description Text that must be contained, in upper or lower case. */
                search?: components["parameters"]["search"];
                /** @description Fields that are searched; those of text unless given. */
                searchFields?: components["parameters"]["searchFields4"];
                /** @description The owners, and deleted entities. Lists show the user's own entities unless `all` is given, which takes a user of scope realm. `deleted` asks for deleted ones alone, `false` for both. */
                scope?: components["parameters"]["scope"];
                /** @description Fields to answer with, dotted into objects; all unless given. */
                fields?: components["parameters"]["fields4"];
                /** @description Fields in order, with `-` before one to descend; `created_at` unless given. */
                sort?: components["parameters"]["sort4"];
                /** @description Relations that are shown whole in place of their ids. */
                populate?: components["parameters"]["populate2"];
                /** @description Most entities of the answer; 1000 unless given. */
                limit?: components["parameters"]["limit2"];
                /** @description Number of entities that are skipped first. */
                offset?: components["parameters"]["offset"];
                /** @description The id of the last one before: paging without a bound. */
                after?: components["parameters"]["after"];
            };
            header?: {
                /** @description `read=primary`: no replica answers, so the answer shows all that was written. */
                prefer?: components["parameters"]["prefer"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": (components["schemas"]["Identity"] | components["schemas"]["IdentityPart"])[];
                };
            };
        };
    };
    countIdentities: {
        parameters: {
            query?: {
                /** @description A condition as JSON text: see the query language above. */
                query?: components["parameters"]["query"];
                /** @description Text that must be contained, in upper or lower case. */
                search?: components["parameters"]["search"];
                /** @description Fields that are searched; those of text unless given. */
                searchFields?: components["parameters"]["searchFields4"];
                /** @description The owners, and deleted entities. Lists show the user's own entities unless `all` is given, which takes a user of scope realm. `deleted` asks for deleted ones alone, `false` for both. */
                scope?: components["parameters"]["scope"];
            };
            header?: {
                /** @description `read=primary`: no replica answers, so the answer shows all that was written. */
                prefer?: components["parameters"]["prefer"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: components["responses"]["Count"];
        };
    };
    getIdentity: {
        parameters: {
            query?: {
                /** @description Fields to answer with, dotted into objects; all unless given. */
                fields?: components["parameters"]["fields4"];
                /** @description The owners, and deleted entities. Lists show the user's own entities unless `all` is given, which takes a user of scope realm. `deleted` asks for deleted ones alone, `false` for both. */
                scope?: components["parameters"]["scope"];
                /** @description Relations that are shown whole in place of their ids. */
                populate?: components["parameters"]["populate2"];
            };
            header?: {
                /** @description `etag` of an answer that is known: 304 where it would be the same. */
                "if-none-match"?: components["parameters"]["if-none-match"];
            };
            path: {
                id: components["parameters"]["id"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Identity"] | components["schemas"]["IdentityPart"];
                };
            };
        };
    };
    deleteIdentity: {
        parameters: {
            query?: never;
            header?: {
                /** @description `etag` of the version that is to be changed; another one is refused with 409. */
                "if-match"?: components["parameters"]["if-match"];
            };
            path: {
                id: components["parameters"]["id"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Identity"];
                };
            };
        };
    };
    updateIdentity: {
        parameters: {
            query?: never;
            header?: {
                /** @description A repeat with the same key gets the same answer and changes nothing; also a refusal is kept. Kept for 7 days. */
                "idempotency-key"?: components["parameters"]["idempotency-key"];
                /** @description `etag` of the version that is to be changed; another one is refused with 409. */
                "if-match"?: components["parameters"]["if-match"];
            };
            path: {
                id: components["parameters"]["id"];
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["IdentityChange"];
            };
        };
        responses: {
            200: components["responses"]["Identity2"];
        };
    };
    undeleteIdentity: {
        parameters: {
            query?: never;
            header?: {
                /** @description A repeat with the same key gets the same answer and changes nothing; also a refusal is kept. Kept for 7 days. */
                "idempotency-key"?: components["parameters"]["idempotency-key"];
                /** @description `etag` of the version that is to be changed; another one is refused with 409. */
                "if-match"?: components["parameters"]["if-match"];
            };
            path: {
                id: components["parameters"]["id"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: components["responses"]["Identity2"];
        };
    };
    findAddress: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                address: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AddressUses"];
                };
            };
        };
    };
    listAddresses: {
        parameters: {
            query?: {
                limit?: components["parameters"]["limit4"];
                /** @description The last address of the previous page. */
                after?: string;
            };
            header?: never;
            path: {
                id: components["parameters"]["id"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Address"][];
                };
            };
        };
    };
    createAddress: {
        parameters: {
            query?: never;
            header?: {
                /** @description A repeat with the same key gets the same answer and changes nothing; also a refusal is kept. Kept for 7 days. */
                "idempotency-key"?: components["parameters"]["idempotency-key"];
                /** @description `wait=N`, from 1 to 30 seconds: answers when the entity is ready, or then. */
                prefer?: components["parameters"]["prefer2"];
            };
            path: {
                id: components["parameters"]["id"];
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["NewAddress"];
            };
        };
        responses: {
            /** @description Success */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Account"];
                };
            };
        };
    };
    listExternalAddresses: {
        parameters: {
            query?: {
                limit?: components["parameters"]["limit4"];
                offset?: number;
            };
            header?: never;
            path: {
                id: components["parameters"]["id"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ExternalAddress"][];
                };
            };
        };
    };
    assignExternalAddress: {
        parameters: {
            query?: never;
            header?: {
                /** @description A repeat with the same key gets the same answer and changes nothing; also a refusal is kept. Kept for 7 days. */
                "idempotency-key"?: components["parameters"]["idempotency-key"];
            };
            path: {
                id: components["parameters"]["id"];
                external_address: components["parameters"]["external_address"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ExternalAddress"];
                };
            };
        };
    };
    unassignExternalAddress: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: components["parameters"]["id"];
                external_address: components["parameters"]["external_address"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ExternalAddress"][];
                };
            };
        };
    };
    rescanDeposits: {
        parameters: {
            query?: never;
            header?: {
                /** @description A repeat with the same key gets the same answer and changes nothing; also a refusal is kept. Kept for 7 days. */
                "idempotency-key"?: components["parameters"]["idempotency-key"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Rescan"];
            };
        };
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RescanQueued"];
                };
            };
        };
    };
    getRescan: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: components["parameters"]["id"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DepositRescan"];
                };
            };
        };
    };
    explainDeposit: {
        parameters: {
            query?: {
                hash?: string;
                address?: string;
                chain?: "BITCOIN" | "LITECOIN" | "BITCOIN_CASH" | "DOGECOIN" | "ETHEREUM" | "POLYGON" | "CELO" | "BSC" | "SOLANA" | "TRON";
                /** @description Whether it was on a test network; either, unless given. */
                testnet?: boolean;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DepositExplanation"];
                };
            };
        };
    };
    listUnmatchedDeposits: {
        parameters: {
            query?: {
                limit?: components["parameters"]["limit4"];
                /** @description The last one of the previous page. */
                after?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UnmatchedDeposit"][];
                };
            };
        };
    };
    findDeposits: {
        parameters: {
            query?: {
                /** @description A condition as JSON text: see the query language above. */
                query?: components["parameters"]["query"];
                /** @description Text that must be contained, in upper or lower case. */
                search?: components["parameters"]["search"];
                /** @description Fields that are searched; those of text unless given. */
                searchFields?: components["parameters"]["searchFields5"];
                /** @description The owners, and deleted entities. Lists show the user's own entities unless `all` is given, which takes a user of scope realm. `deleted` asks for deleted ones alone, `false` for both. */
                scope?: components["parameters"]["scope"];
                /** @description Fields to answer with, dotted into objects; all unless given. */
                fields?: components["parameters"]["fields5"];
                /** @description Fields in order, with `-` before one to descend; `created_at` unless given. */
                sort?: components["parameters"]["sort5"];
                /** @description Relations that are shown whole in place of their ids. */
                populate?: components["parameters"]["populate3"];
                /** @description Most entities of the answer; 1000 unless given. */
                limit?: components["parameters"]["limit2"];
                /** @description Number of entities that are skipped first. */
                offset?: components["parameters"]["offset"];
                /** @description The id of the last one before: paging without a bound. */
                after?: components["parameters"]["after"];
                /** @description As `accept` says unless given. */
                format?: components["parameters"]["format"];
                /** @description CSV alone, which takes it: milliseconds since the epoch, included. */
                from?: components["parameters"]["from"];
                /** @description CSV alone, which takes it: at most 400 days after `from`, included. */
                to?: components["parameters"]["to"];
            };
            header?: {
                /** @description `read=primary`: no replica answers, so the answer shows all that was written. */
                prefer?: components["parameters"]["prefer"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": (components["schemas"]["Deposit"] | components["schemas"]["DepositPart"])[];
                    "text/csv": string;
                };
            };
        };
    };
    listDeposits: {
        parameters: {
            query?: {
                /** @description A condition as JSON text: see the query language above. */
                query?: components["parameters"]["query"];
                /** @description Text that must be contained, in upper or lower case. */
                search?: components["parameters"]["search"];
                /** @description Fields that are searched; those of text unless given. */
                searchFields?: components["parameters"]["searchFields5"];
                /** @description The owners, and deleted entities. Lists show the user's own entities unless `all` is given, which takes a user of scope realm. `deleted` asks for deleted ones alone, `false` for both. */
                scope?: components["parameters"]["scope"];
                /** @description Fields to answer with, dotted into objects; all unless given. */
                fields?: components["parameters"]["fields5"];
                /** @description Fields in order, with `-` before one to descend; `created_at` unless given. */
                sort?: components["parameters"]["sort5"];
                /** @description Relations that are shown whole in place of their ids. */
                populate?: components["parameters"]["populate3"];
                /** @description Which page, from 1. */
                page?: components["parameters"]["page"];
                /** @description Rows of a page; 10 unless given. */
                pageSize?: components["parameters"]["pageSize"];
            };
            header?: {
                /** @description `read=primary`: no replica answers, so the answer shows all that was written. */
                prefer?: components["parameters"]["prefer"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DepositPage"];
                };
            };
        };
    };
    countDeposits: {
        parameters: {
            query?: {
                /** @description A condition as JSON text: see the query language above. */
                query?: components["parameters"]["query"];
                /** @description Text that must be contained, in upper or lower case. */
                search?: components["parameters"]["search"];
                /** @description Fields that are searched; those of text unless given. */
                searchFields?: components["parameters"]["searchFields5"];
                /** @description The owners, and deleted entities. Lists show the user's own entities unless `all` is given, which takes a user of scope realm. `deleted` asks for deleted ones alone, `false` for both. */
                scope?: components["parameters"]["scope"];
            };
            header?: {
                /** @description `read=primary`: no replica answers, so the answer shows all that was written. */
                prefer?: components["parameters"]["prefer"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: components["responses"]["Count"];
        };
    };
    getDeposit: {
        parameters: {
            query?: {
                /** @description Fields to answer with, dotted into objects; all unless given. */
                fields?: components["parameters"]["fields5"];
                /** @description The owners, and deleted entities. Lists show the user's own entities unless `all` is given, which takes a user of scope realm. `deleted` asks for deleted ones alone, `false` for both. */
                scope?: components["parameters"]["scope"];
                /** @description Relations that are shown whole in place of their ids. */
                populate?: components["parameters"]["populate3"];
            };
            header?: never;
            path: {
                id: components["parameters"]["id"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Deposit"] | components["schemas"]["DepositPart"];
                };
            };
        };
    };
    listDepositApplications: {
        parameters: {
            query?: {
                /** @description A condition as JSON text: see the query language above. */
                query?: components["parameters"]["query"];
                /** @description Text that must be contained, in upper or lower case. */
                search?: components["parameters"]["search"];
                /** @description Fields that are searched; those of text unless given. */
                searchFields?: components["parameters"]["searchFields6"];
                /** @description The owners, and deleted entities. Lists show the user's own entities unless `all` is given, which takes a user of scope realm. `deleted` asks for deleted ones alone, `false` for both. */
                scope?: components["parameters"]["scope"];
                /** @description Fields to answer with, dotted into objects; all unless given. */
                fields?: components["parameters"]["fields6"];
                /** @description Fields in order, with `-` before one to descend; `created_at` unless given. */
                sort?: components["parameters"]["sort6"];
                /** @description Relations that are shown whole in place of their ids. */
                populate?: components["parameters"]["populate3"];
                /** @description Most entities of the answer; 1000 unless given. */
                limit?: components["parameters"]["limit2"];
                /** @description Number of entities that are skipped first. */
                offset?: components["parameters"]["offset"];
                /** @description The id of the last one before: paging without a bound. */
                after?: components["parameters"]["after"];
                /** @description Which page, from 1. */
                page?: components["parameters"]["page"];
                /** @description Rows of a page; 10 unless given. */
                pageSize?: components["parameters"]["pageSize"];
            };
            header?: {
                /** @description `read=primary`: no replica answers, so the answer shows all that was written. */
                prefer?: components["parameters"]["prefer"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": (components["schemas"]["DepositApplication"] | components["schemas"]["DepositApplicationPart"])[] | components["schemas"]["DepositApplicationPage"];
                };
            };
        };
    };
    createDepositApplication: {
        parameters: {
            query?: never;
            header?: {
                /** @description A repeat with the same key gets the same answer and changes nothing; also a refusal is kept. Kept for 7 days. */
                "idempotency-key"?: components["parameters"]["idempotency-key"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewDepositApplication"];
            };
        };
        responses: {
            /** @description Success */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DepositApplication"];
                };
            };
        };
    };
    findDepositApplications: {
        parameters: {
            query?: {
                /** @description A condition as JSON text: see the query language above. */
                query?: components["parameters"]["query"];
                /** @description Text that must be contained, in upper or lower case. */
                search?: components["parameters"]["search"];
                /** @description Fields that are searched; those of text unless given. */
                searchFields?: components["parameters"]["searchFields6"];
                /** @description The owners, and deleted entities. Lists show the user's own entities unless `all` is given, which takes a user of scope realm. `deleted` asks for deleted ones alone, `false` for both. */
                scope?: components["parameters"]["scope"];
                /** @description Fields to answer with, dotted into objects; all unless given. */
                fields?: components["parameters"]["fields6"];
                /** @description Fields in order, with `-` before one to descend; `created_at` unless given. */
                sort?: components["parameters"]["sort6"];
                /** @description Relations that are shown whole in place of their ids. */
                populate?: components["parameters"]["populate3"];
                /** @description Most entities of the answer; 1000 unless given. */
                limit?: components["parameters"]["limit2"];
                /** @description Number of entities that are skipped first. */
                offset?: components["parameters"]["offset"];
                /** @description The id of the last one before: paging without a bound. */
                after?: components["parameters"]["after"];
            };
            header?: {
                /** @description `read=primary`: no replica answers, so the answer shows all that was written. */
                prefer?: components["parameters"]["prefer"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": (components["schemas"]["DepositApplication"] | components["schemas"]["DepositApplicationPart"])[];
                };
            };
        };
    };
    countDepositApplications: {
        parameters: {
            query?: {
                /** @description A condition as JSON text: see the query language above. */
                query?: components["parameters"]["query"];
                /** @description Text that must be contained, in upper or lower case. */
                search?: components["parameters"]["search"];
                /** @description Fields that are searched; those of text unless given. */
                searchFields?: components["parameters"]["searchFields6"];
                /** @description The owners, and deleted entities. Lists show the user's own entities unless `all` is given, which takes a user of scope realm. `deleted` asks for deleted ones alone, `false` for both. */
                scope?: components["parameters"]["scope"];
            };
            header?: {
                /** @description `read=primary`: no replica answers, so the answer shows all that was written. */
                prefer?: components["parameters"]["prefer"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: components["responses"]["Count"];
        };
    };
    getDepositApplication: {
        parameters: {
            query?: never;
            header?: {
                /** @description `etag` of an answer that is known: 304 where it would be the same. */
                "if-none-match"?: components["parameters"]["if-none-match"];
            };
            path: {
                id: components["parameters"]["id"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: components["responses"]["DepositApplication"];
        };
    };
    deleteDepositApplication: {
        parameters: {
            query?: never;
            header?: {
                /** @description `etag` of the version that is to be changed; another one is refused with 409. */
                "if-match"?: components["parameters"]["if-match"];
            };
            path: {
                id: components["parameters"]["id"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: components["responses"]["DepositApplication"];
        };
    };
    updateDepositApplication: {
        parameters: {
            query?: never;
            header?: {
                /** @description A repeat with the same key gets the same answer and changes nothing; also a refusal is kept. Kept for 7 days. */
                "idempotency-key"?: components["parameters"]["idempotency-key"];
                /** @description `etag` of the version that is to be changed; another one is refused with 409. */
                "if-match"?: components["parameters"]["if-match"];
            };
            path: {
                id: components["parameters"]["id"];
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["DepositApplicationChange"];
            };
        };
        responses: {
            200: components["responses"]["DepositApplication2"];
        };
    };
    undeleteDepositApplication: {
        parameters: {
            query?: never;
            header?: {
                /** @description A repeat with the same key gets the same answer and changes nothing; also a refusal is kept. Kept for 7 days. */
                "idempotency-key"?: components["parameters"]["idempotency-key"];
                /** @description `etag` of the version that is to be changed; another one is refused with 409. */
                "if-match"?: components["parameters"]["if-match"];
            };
            path: {
                id: components["parameters"]["id"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: components["responses"]["DepositApplication2"];
        };
    };
    listAccounts: {
        parameters: {
            query?: {
                /** @description A condition as JSON text: see the query language above. */
                query?: components["parameters"]["query"];
                /** @description Text that must be contained, in upper or lower case. */
                search?: components["parameters"]["search"];
                /** @description Fields that are searched; those of text unless given. */
                searchFields?: components["parameters"]["searchFields7"];
                /** @description The owners, and deleted entities. Lists show the user's own entities unless `all` is given, which takes a user of scope realm. `deleted` asks for deleted ones alone, `false` for both. */
                scope?: components["parameters"]["scope"];
                /** @description Fields to answer with, dotted into objects; all unless given. */
                fields?: components["parameters"]["fields7"];
                /** @description Fields in order, with `-` before one to descend; `created_at` unless given. */
                sort?: components["parameters"]["sort7"];
                /** @description Relations that are shown whole in place of their ids. */
                populate?: components["parameters"]["populate4"];
                /** @description Which page, from 1. */
                page?: components["parameters"]["page"];
                /** @description Rows of a page; 10 unless given. */
                pageSize?: components["parameters"]["pageSize"];
            };
            header?: {
                /** @description `read=primary`: no replica answers, so the answer shows all that was written. */
                prefer?: components["parameters"]["prefer"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AccountPage"];
                };
            };
        };
    };
    createAccount: {
        parameters: {
            query?: never;
            header?: {
                /** @description A repeat with the same key gets the same answer and changes nothing; also a refusal is kept. Kept for 7 days. */
                "idempotency-key"?: components["parameters"]["idempotency-key"];
                /** @description `wait=N`, from 1 to 30 seconds: answers when the entity is ready, or then. */
                prefer?: components["parameters"]["prefer2"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewAccount"];
            };
        };
        responses: {
            /** @description Success */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Account"];
                };
            };
        };
    };
    findAccounts: {
        parameters: {
            query?: {
                /** @description A condition as JSON text: see the query language above. */
                query?: components["parameters"]["query"];
                /** @description Text that must be contained, in upper or lower case. */
                search?: components["parameters"]["search"];
                /** @description Fields that are searched; those of text unless given. */
                searchFields?: components["parameters"]["searchFields7"];
                /** @description The owners, and deleted entities. Lists show the user's own entities unless `all` is given, which takes a user of scope realm. `deleted` asks for deleted ones alone, `false` for both. */
                scope?: components["parameters"]["scope"];
                /** @description Fields to answer with, dotted into objects; all unless given. */
                fields?: components["parameters"]["fields7"];
                /** @description Fields in order, with `-` before one to descend; `created_at` unless given. */
                sort?: components["parameters"]["sort7"];
                /** @description Relations that are shown whole in place of their ids. */
                populate?: components["parameters"]["populate4"];
                /** @description Most entities of the answer; 1000 unless given. */
                limit?: components["parameters"]["limit2"];
                /** @description Number of entities that are skipped first. */
                offset?: components["parameters"]["offset"];
                /** @description The id of the last one before: paging without a bound. */
                after?: components["parameters"]["after"];
                /** @description As `accept` says unless given. */
                format?: components["parameters"]["format"];
                /** @description CSV alone, which takes it: milliseconds since the epoch, included. */
                from?: components["parameters"]["from"];
                /** @description CSV alone, which takes it: at most 400 days after `from`, included. */
                to?: components["parameters"]["to"];
            };
            header?: {
                /** @description `read=primary`: no replica answers, so the answer shows all that was written. */
                prefer?: components["parameters"]["prefer"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": (components["schemas"]["Account"] | components["schemas"]["AccountPart"])[];
                    "text/csv": string;
                };
            };
        };
    };
    countAccounts: {
        parameters: {
            query?: {
                /** @description A condition as JSON text: see the query language above. */
                query?: components["parameters"]["query"];
                /** @description Text that must be contained, in upper or lower case. */
                search?: components["parameters"]["search"];
                /** @description Fields that are searched; those of text unless given. */
                searchFields?: components["parameters"]["searchFields7"];
                /** @description The owners, and deleted entities. Lists show the user's own entities unless `all` is given, which takes a user of scope realm. `deleted` asks for deleted ones alone, `false` for both. */
                scope?: components["parameters"]["scope"];
            };
            header?: {
                /** @description `read=primary`: no replica answers, so the answer shows all that was written. */
                prefer?: components["parameters"]["prefer"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: components["responses"]["Count"];
        };
    };
    getAccount: {
        parameters: {
            query?: {
                /** @description Fields to answer with, dotted into objects; all unless given. */
                fields?: components["parameters"]["fields7"];
                /** @description The owners, and deleted entities. Lists show the user's own entities unless `all` is given, which takes a user of scope realm. `deleted` asks for deleted ones alone, `false` for both. */
                scope?: components["parameters"]["scope"];
                /** @description Relations that are shown whole in place of their ids. */
                populate?: components["parameters"]["populate4"];
            };
            header?: {
                /** @description `etag` of an answer that is known: 304 where it would be the same. */
                "if-none-match"?: components["parameters"]["if-none-match"];
            };
            path: {
                id: components["parameters"]["id"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Account"] | components["schemas"]["AccountPart"];
                };
            };
        };
    };
    deleteAccount: {
        parameters: {
            query?: never;
            header?: {
                /** @description `etag` of the version that is to be changed; another one is refused with 409. */
                "if-match"?: components["parameters"]["if-match"];
            };
            path: {
                id: components["parameters"]["id"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Account"];
                };
            };
        };
    };
    updateAccount: {
        parameters: {
            query?: never;
            header?: {
                /** @description A repeat with the same key gets the same answer and changes nothing; also a refusal is kept. Kept for 7 days. */
                "idempotency-key"?: components["parameters"]["idempotency-key"];
                /** @description `etag` of the version that is to be changed; another one is refused with 409. */
                "if-match"?: components["parameters"]["if-match"];
            };
            path: {
                id: components["parameters"]["id"];
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["AccountChange"];
            };
        };
        responses: {
            200: components["responses"]["Account"];
        };
    };
    undeleteAccount: {
        parameters: {
            query?: never;
            header?: {
                /** @description A repeat with the same key gets the same answer and changes nothing; also a refusal is kept. Kept for 7 days. */
                "idempotency-key"?: components["parameters"]["idempotency-key"];
                /** @description `etag` of the version that is to be changed; another one is refused with 409. */
                "if-match"?: components["parameters"]["if-match"];
            };
            path: {
                id: components["parameters"]["id"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: components["responses"]["Account"];
        };
    };
    freezeAccount: {
        parameters: {
            query?: never;
            header?: {
                /** @description A repeat with the same key gets the same answer and changes nothing; also a refusal is kept. Kept for 7 days. */
                "idempotency-key"?: components["parameters"]["idempotency-key"];
                /** @description `etag` of the version that is to be changed; another one is refused with 409. */
                "if-match"?: components["parameters"]["if-match"];
            };
            path: {
                id: components["parameters"]["id"];
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["AccountStateChange"];
            };
        };
        responses: {
            200: components["responses"]["Account"];
        };
    };
    unfreezeAccount: {
        parameters: {
            query?: never;
            header?: {
                /** @description A repeat with the same key gets the same answer and changes nothing; also a refusal is kept. Kept for 7 days. */
                "idempotency-key"?: components["parameters"]["idempotency-key"];
                /** @description `etag` of the version that is to be changed; another one is refused with 409. */
                "if-match"?: components["parameters"]["if-match"];
            };
            path: {
                id: components["parameters"]["id"];
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["AccountStateChange"];
            };
        };
        responses: {
            200: components["responses"]["Account"];
        };
    };
    deactivateAccount: {
        parameters: {
            query?: never;
            header?: {
                /** @description A repeat with the same key gets the same answer and changes nothing; also a refusal is kept. Kept for 7 days. */
                "idempotency-key"?: components["parameters"]["idempotency-key"];
                /** @description `etag` of the version that is to be changed; another one is refused with 409. */
                "if-match"?: components["parameters"]["if-match"];
            };
            path: {
                id: components["parameters"]["id"];
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["AccountStateChange"];
            };
        };
        responses: {
            200: components["responses"]["Account"];
        };
    };
    activateAccount: {
        parameters: {
            query?: never;
            header?: {
                /** @description A repeat with the same key gets the same answer and changes nothing; also a refusal is kept. Kept for 7 days. */
                "idempotency-key"?: components["parameters"]["idempotency-key"];
                /** @description `etag` of the version that is to be changed; another one is refused with 409. */
                "if-match"?: components["parameters"]["if-match"];
            };
            path: {
                id: components["parameters"]["id"];
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["AccountStateChange"];
            };
        };
        responses: {
            200: components["responses"]["Account"];
        };
    };
    consolidateAccount: {
        parameters: {
            query?: {
                /** @description A boolean; its name as a string is taken too. */
                dry_run?: components["parameters"]["dry_run"];
            };
            header?: {
                /** @description A repeat with the same key gets the same answer and changes nothing; also a refusal is kept. Kept for 7 days. */
                "idempotency-key"?: components["parameters"]["idempotency-key"];
            };
            path: {
                id: components["parameters"]["id"];
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["NewConsolidation"];
            };
        };
        responses: {
            /** @description Success */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Consolidation"];
                };
            };
        };
    };
    listConsolidations: {
        parameters: {
            query?: {
                status?: "PROCESSING" | "DONE" | "FAILED";
                /** @description Which page, from 1. */
                page?: components["parameters"]["page"];
                /** @description Rows of a page; 10 unless given. */
                pageSize?: components["parameters"]["pageSize"];
            };
            header?: never;
            path: {
                id: components["parameters"]["id"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ConsolidationPage"];
                };
            };
        };
    };
    getConsolidation: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: components["parameters"]["id"];
                consolidation: components["parameters"]["consolidation"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Consolidation"];
                };
            };
        };
    };
    speedUpConsolidation: {
        parameters: {
            query?: never;
            header?: {
                /** @description A repeat with the same key gets the same answer and changes nothing; also a refusal is kept. Kept for 7 days. */
                "idempotency-key"?: components["parameters"]["idempotency-key"];
            };
            path: {
                id: components["parameters"]["id"];
                consolidation: components["parameters"]["consolidation"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ConsolidationSpeedUp"];
            };
        };
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Consolidation"];
                };
            };
        };
    };
    listRampOrders: {
        parameters: {
            query?: {
                /** @description Open orders alone are listed, with it and without. */
                open?: "true";
                /** @description The last order of the page before. */
                after?: components["schemas"]["Id"];
                limit?: components["parameters"]["limit5"];
            };
            header?: never;
            path: {
                id: components["parameters"]["id"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ChainOrder"][];
                };
            };
        };
    };
    listAssets: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Asset"][];
                };
            };
        };
    };
    listChains: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Chain"][];
                };
            };
        };
    };
    getChainHistory: {
        parameters: {
            query: {
                chain: "BITCOIN" | "LITECOIN" | "BITCOIN_CASH" | "DOGECOIN" | "ETHEREUM" | "POLYGON" | "CELO" | "BSC" | "SOLANA" | "TRON";
                /** @description A boolean; its name as a string is taken too. */
                testnet?: components["parameters"]["testnet"];
                /** @description Milliseconds since the epoch, included; a day before `to` unless given. */
                from?: components["parameters"]["from2"];
                /** @description Milliseconds since the epoch, included; the present unless given. */
                to?: components["parameters"]["to2"];
                /** @description How many moments, the first at `from` and the last at `to`. */
                points?: components["parameters"]["points"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ChainHistory"];
                };
            };
        };
    };
    listAccountEntries: {
        parameters: {
            query?: {
                /** @description Milliseconds since the epoch. */
                from?: components["parameters"]["from3"];
                /** @description Milliseconds since the epoch. */
                to?: components["parameters"]["to3"];
                /** @description The number of an entry: those that follow it in the order asked for, instead of a page. */
                after?: string;
                sort?: "created_at" | "-created_at" | "seq" | "-seq";
                /** @description Which page, from 1. */
                page?: components["parameters"]["page"];
                /** @description Rows of a page; 10 unless given. */
                pageSize?: components["parameters"]["pageSize"];
                /** @description As `accept` says unless given. */
                format?: components["parameters"]["format"];
            };
            header?: {
                /** @description `read=primary`: no replica answers, so the answer shows all that was written. */
                prefer?: components["parameters"]["prefer"];
            };
            path: {
                id: components["parameters"]["id"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EntryPage"];
                    "text/csv": string;
                };
            };
        };
    };
    getAccountBalance: {
        parameters: {
            query?: {
                /** @description Milliseconds since the epoch. */
                at?: number;
            };
            header?: never;
            path: {
                id: components["parameters"]["id"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BalanceAt"];
                };
            };
        };
    };
    getBalance: {
        parameters: {
            query?: {
                /** @description Milliseconds since the epoch, included; unless given, when the account was made, or the end of what is archived of it. */
                from?: number;
                /** @description Milliseconds since the epoch, included; the present unless given. */
                to?: components["parameters"]["to2"];
                /** @description How many moments, the first at `from` and the last at `to`. */
                points?: components["parameters"]["points"];
            };
            header?: {
                /** @description `read=primary`: no replica answers, so the answer shows all that was written. */
                prefer?: components["parameters"]["prefer"];
            };
            path: {
                id: components["parameters"]["id"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Balances"];
                };
            };
        };
    };
    getAccountStatement: {
        parameters: {
            query?: {
                /** @description Milliseconds since the epoch. */
                from?: components["parameters"]["from3"];
                /** @description Milliseconds since the epoch. */
                to?: components["parameters"]["to3"];
                /** @description As `accept` says unless given. */
                format?: components["parameters"]["format"];
            };
            header?: {
                /** @description `read=primary`: no replica answers, so the answer shows all that was written. */
                prefer?: components["parameters"]["prefer"];
            };
            path: {
                id: components["parameters"]["id"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Statement"];
                    "text/csv": string;
                };
            };
        };
    };
    listBlocks: {
        parameters: {
            query?: {
                status?: "OPEN" | "CAPTURED" | "RELEASED" | "EXPIRED";
                /** @description Which page, from 1. */
                page?: components["parameters"]["page"];
                /** @description Rows of a page; 10 unless given. */
                pageSize?: components["parameters"]["pageSize"];
            };
            header?: never;
            path: {
                id: components["parameters"]["id"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BlockPage"];
                };
            };
        };
    };
    createBlock: {
        parameters: {
            query?: {
                /** @description A boolean; its name as a string is taken too. */
                dry_run?: components["parameters"]["dry_run"];
            };
            header?: {
                /** @description A repeat with the same key gets the same answer and changes nothing; also a refusal is kept. Kept for 7 days. */
                "idempotency-key"?: components["parameters"]["idempotency-key"];
            };
            path: {
                id: components["parameters"]["id"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewBlock"];
            };
        };
        responses: {
            /** @description Success */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Block"];
                };
            };
        };
    };
    getBlock: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: components["parameters"]["id"];
                block: components["parameters"]["block"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: components["responses"]["Block"];
        };
    };
    releaseBlock: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: components["parameters"]["id"];
                block: components["parameters"]["block"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: components["responses"]["Block"];
        };
    };
    captureBlock: {
        parameters: {
            query?: {
                /** @description A boolean; its name as a string is taken too. */
                dry_run?: components["parameters"]["dry_run"];
            };
            header?: {
                /** @description A repeat with the same key gets the same answer and changes nothing; also a refusal is kept. Kept for 7 days. */
                "idempotency-key"?: components["parameters"]["idempotency-key"];
            };
            path: {
                id: components["parameters"]["id"];
                block: components["parameters"]["block"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Capture"];
            };
        };
        responses: {
            201: components["responses"]["Transaction"];
        };
    };
    listAliases: {
        parameters: {
            query?: {
                /** @description A condition as JSON text: see the query language above. */
                query?: components["parameters"]["query"];
                /** @description Text that must be contained, in upper or lower case. */
                search?: components["parameters"]["search"];
                /** @description Fields that are searched; those of text unless given. */
                searchFields?: components["parameters"]["searchFields8"];
                /** @description The owners, and deleted entities. Lists show the user's own entities unless `all` is given, which takes a user of scope realm. `deleted` asks for deleted ones alone, `false` for both. */
                scope?: components["parameters"]["scope"];
                /** @description Fields to answer with, dotted into objects; all unless given. */
                fields?: components["parameters"]["fields8"];
                /** @description Fields in order, with `-` before one to descend; `created_at` unless given. */
                sort?: components["parameters"]["sort8"];
                /** @description Relations that are shown whole in place of their ids. */
                populate?: components["parameters"]["populate5"];
                /** @description Which page, from 1. */
                page?: components["parameters"]["page"];
                /** @description Rows of a page; 10 unless given. */
                pageSize?: components["parameters"]["pageSize"];
            };
            header?: {
                /** @description `read=primary`: no replica answers, so the answer shows all that was written. */
                prefer?: components["parameters"]["prefer"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AliasPage"];
                };
            };
        };
    };
    createAlias: {
        parameters: {
            query?: never;
            header?: {
                /** @description A repeat with the same key gets the same answer and changes nothing; also a refusal is kept. Kept for 7 days. */
                "idempotency-key"?: components["parameters"]["idempotency-key"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewAlias"];
            };
        };
        responses: {
            /** @description Success */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Alias"];
                };
            };
        };
    };
    findAliases: {
        parameters: {
            query?: {
                /** @description A condition as JSON text: see the query language above. */
                query?: components["parameters"]["query"];
                /** @description Text that must be contained, in upper or lower case. */
                search?: components["parameters"]["search"];
                /** @description Fields that are searched; those of text unless given. */
                searchFields?: components["parameters"]["searchFields8"];
                /** @description The owners, and deleted entities. Lists show the user's own entities unless `all` is given, which takes a user of scope realm. `deleted` asks for deleted ones alone, `false` for both. */
                scope?: components["parameters"]["scope"];
                /** @description Fields to answer with, dotted into objects; all unless given. */
                fields?: components["parameters"]["fields8"];
                /** @description Fields in order, with `-` before one to descend; `created_at` unless given. */
                sort?: components["parameters"]["sort8"];
                /** @description Relations that are shown whole in place of their ids. */
                populate?: components["parameters"]["populate5"];
                /** @description Most entities of the answer; 1000 unless given. */
                limit?: components["parameters"]["limit2"];
                /** @description Number of entities that are skipped first. */
                offset?: components["parameters"]["offset"];
                /** @description The id of the last one before: paging without a bound. */
                after?: components["parameters"]["after"];
            };
            header?: {
                /** @description `read=primary`: no replica answers, so the answer shows all that was written. */
                prefer?: components["parameters"]["prefer"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": (components["schemas"]["Alias"] | components["schemas"]["AliasPart"])[];
                };
            };
        };
    };
    countAliases: {
        parameters: {
            query?: {
                /** @description A condition as JSON text: see the query language above. */
                query?: components["parameters"]["query"];
                /** @description Text that must be contained, in upper or lower case. */
                search?: components["parameters"]["search"];
                /** @description Fields that are searched; those of text unless given. */
                searchFields?: components["parameters"]["searchFields8"];
                /** @description The owners, and deleted entities. Lists show the user's own entities unless `all` is given, which takes a user of scope realm. `deleted` asks for deleted ones alone, `false` for both. */
                scope?: components["parameters"]["scope"];
            };
            header?: {
                /** @description `read=primary`: no replica answers, so the answer shows all that was written. */
                prefer?: components["parameters"]["prefer"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: components["responses"]["Count"];
        };
    };
    getAlias: {
        parameters: {
            query?: {
                /** @description Fields to answer with, dotted into objects; all unless given. */
                fields?: components["parameters"]["fields8"];
                /** @description The owners, and deleted entities. Lists show the user's own entities unless `all` is given, which takes a user of scope realm. `deleted` asks for deleted ones alone, `false` for both. */
                scope?: components["parameters"]["scope"];
                /** @description Relations that are shown whole in place of their ids. */
                populate?: components["parameters"]["populate5"];
            };
            header?: {
                /** @description `etag` of an answer that is known: 304 where it would be the same. */
                "if-none-match"?: components["parameters"]["if-none-match"];
            };
            path: {
                id: components["parameters"]["id"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Alias"] | components["schemas"]["AliasPart"];
                };
            };
        };
    };
    deleteAlias: {
        parameters: {
            query?: never;
            header?: {
                /** @description `etag` of the version that is to be changed; another one is refused with 409. */
                "if-match"?: components["parameters"]["if-match"];
            };
            path: {
                id: components["parameters"]["id"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Alias"];
                };
            };
        };
    };
    updateAlias: {
        parameters: {
            query?: never;
            header?: {
                /** @description A repeat with the same key gets the same answer and changes nothing; also a refusal is kept. Kept for 7 days. */
                "idempotency-key"?: components["parameters"]["idempotency-key"];
                /** @description `etag` of the version that is to be changed; another one is refused with 409. */
                "if-match"?: components["parameters"]["if-match"];
            };
            path: {
                id: components["parameters"]["id"];
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["AliasChange"];
            };
        };
        responses: {
            200: components["responses"]["Alias"];
        };
    };
    undeleteAlias: {
        parameters: {
            query?: never;
            header?: {
                /** @description A repeat with the same key gets the same answer and changes nothing; also a refusal is kept. Kept for 7 days. */
                "idempotency-key"?: components["parameters"]["idempotency-key"];
                /** @description `etag` of the version that is to be changed; another one is refused with 409. */
                "if-match"?: components["parameters"]["if-match"];
            };
            path: {
                id: components["parameters"]["id"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: components["responses"]["Alias"];
        };
    };
    listCurrencies: {
        parameters: {
            query?: {
                /** @description A condition as JSON text: see the query language above. */
                query?: components["parameters"]["query"];
                /** @description Text that must be contained, in upper or lower case. */
                search?: components["parameters"]["search"];
                /** @description Fields that are searched; those of text unless given. */
                searchFields?: components["parameters"]["searchFields9"];
                /** @description The owners, and deleted entities. Lists show the user's own entities unless `all` is given, which takes a user of scope realm. `deleted` asks for deleted ones alone, `false` for both. */
                scope?: components["parameters"]["scope"];
                /** @description Fields to answer with, dotted into objects; all unless given. */
                fields?: components["parameters"]["fields9"];
                /** @description Fields in order, with `-` before one to descend; `created_at` unless given. */
                sort?: components["parameters"]["sort9"];
                /** @description Relations that are shown whole in place of their ids. */
                populate?: components["parameters"]["populate6"];
                /** @description Which page, from 1. */
                page?: components["parameters"]["page"];
                /** @description Rows of a page; 10 unless given. */
                pageSize?: components["parameters"]["pageSize"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CurrencyPage"];
                };
            };
        };
    };
    createCurrency: {
        parameters: {
            query?: {
                /** @description A boolean; its name as a string is taken too. */
                dry_run?: components["parameters"]["dry_run"];
            };
            header?: {
                /** @description A repeat with the same key gets the same answer and changes nothing; also a refusal is kept. Kept for 7 days. */
                "idempotency-key"?: components["parameters"]["idempotency-key"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewCurrency"];
            };
        };
        responses: {
            /** @description Success */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Currency"];
                };
            };
        };
    };
    findCurrencies: {
        parameters: {
            query?: {
                /** @description A condition as JSON text: see the query language above. */
                query?: components["parameters"]["query"];
                /** @description Text that must be contained, in upper or lower case. */
                search?: components["parameters"]["search"];
                /** @description Fields that are searched; those of text unless given. */
                searchFields?: components["parameters"]["searchFields9"];
                /** @description The owners, and deleted entities. Lists show the user's own entities unless `all` is given, which takes a user of scope realm. `deleted` asks for deleted ones alone, `false` for both. */
                scope?: components["parameters"]["scope"];
                /** @description Fields to answer with, dotted into objects; all unless given. */
                fields?: components["parameters"]["fields9"];
                /** @description Fields in order, with `-` before one to descend; `created_at` unless given. */
                sort?: components["parameters"]["sort9"];
                /** @description Relations that are shown whole in place of their ids. */
                populate?: components["parameters"]["populate6"];
                /** @description Most entities of the answer; 1000 unless given. */
                limit?: components["parameters"]["limit2"];
                /** @description Number of entities that are skipped first. */
                offset?: components["parameters"]["offset"];
                /** @description The id of the last one before: paging without a bound. */
                after?: components["parameters"]["after"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": (components["schemas"]["Currency"] | components["schemas"]["CurrencyPart"])[];
                };
            };
        };
    };
    countCurrencies: {
        parameters: {
            query?: {
                /** @description A condition as JSON text: see the query language above. */
                query?: components["parameters"]["query"];
                /** @description Text that must be contained, in upper or lower case. */
                search?: components["parameters"]["search"];
                /** @description Fields that are searched; those of text unless given. */
                searchFields?: components["parameters"]["searchFields9"];
                /** @description The owners, and deleted entities. Lists show the user's own entities unless `all` is given, which takes a user of scope realm. `deleted` asks for deleted ones alone, `false` for both. */
                scope?: components["parameters"]["scope"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: components["responses"]["Count2"];
        };
    };
    getCurrency: {
        parameters: {
            query?: {
                /** @description Fields to answer with, dotted into objects; all unless given. */
                fields?: components["parameters"]["fields9"];
                /** @description The owners, and deleted entities. Lists show the user's own entities unless `all` is given, which takes a user of scope realm. `deleted` asks for deleted ones alone, `false` for both. */
                scope?: components["parameters"]["scope"];
                /** @description Relations that are shown whole in place of their ids. */
                populate?: components["parameters"]["populate6"];
            };
            header?: {
                /** @description `etag` of an answer that is known: 304 where it would be the same. */
                "if-none-match"?: components["parameters"]["if-none-match"];
            };
            path: {
                id: components["parameters"]["id"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Currency"] | components["schemas"]["CurrencyPart"];
                };
            };
        };
    };
    deleteCurrency: {
        parameters: {
            query?: never;
            header?: {
                /** @description `etag` of the version that is to be changed; another one is refused with 409. */
                "if-match"?: components["parameters"]["if-match"];
            };
            path: {
                id: components["parameters"]["id"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Currency"];
                };
            };
        };
    };
    updateCurrency: {
        parameters: {
            query?: never;
            header?: {
                /** @description A repeat with the same key gets the same answer and changes nothing; also a refusal is kept. Kept for 7 days. */
                "idempotency-key"?: components["parameters"]["idempotency-key"];
                /** @description `etag` of the version that is to be changed; another one is refused with 409. */
                "if-match"?: components["parameters"]["if-match"];
            };
            path: {
                id: components["parameters"]["id"];
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["CurrencyChange"];
            };
        };
        responses: {
            200: components["responses"]["Currency"];
        };
    };
    undeleteCurrency: {
        parameters: {
            query?: never;
            header?: {
                /** @description A repeat with the same key gets the same answer and changes nothing; also a refusal is kept. Kept for 7 days. */
                "idempotency-key"?: components["parameters"]["idempotency-key"];
                /** @description `etag` of the version that is to be changed; another one is refused with 409. */
                "if-match"?: components["parameters"]["if-match"];
            };
            path: {
                id: components["parameters"]["id"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: components["responses"]["Currency"];
        };
    };
    issueCurrency: {
        parameters: {
            query?: {
                /** @description A boolean; its name as a string is taken too. */
                dry_run?: components["parameters"]["dry_run"];
            };
            header?: {
                /** @description A repeat with the same key gets the same answer and changes nothing; also a refusal is kept. Kept for 7 days. */
                "idempotency-key"?: components["parameters"]["idempotency-key"];
                /** @description `etag` of the version that is to be changed; another one is refused with 409. */
                "if-match"?: components["parameters"]["if-match"];
            };
            path: {
                id: components["parameters"]["id"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Issue"];
            };
        };
        responses: {
            200: components["responses"]["Currency"];
        };
    };
    destroyCurrency: {
        parameters: {
            query?: {
                /** @description A boolean; its name as a string is taken too. */
                dry_run?: components["parameters"]["dry_run"];
            };
            header?: {
                /** @description A repeat with the same key gets the same answer and changes nothing; also a refusal is kept. Kept for 7 days. */
                "idempotency-key"?: components["parameters"]["idempotency-key"];
                /** @description `etag` of the version that is to be changed; another one is refused with 409. */
                "if-match"?: components["parameters"]["if-match"];
            };
            path: {
                id: components["parameters"]["id"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Issue"];
            };
        };
        responses: {
            200: components["responses"]["Currency"];
        };
    };
    listRates: {
        parameters: {
            query?: {
                base?: string;
                currency?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Rate"][];
                };
            };
        };
    };
    setRate: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewRate"];
            };
        };
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Rate"];
                };
            };
        };
    };
    getChainHead: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ChainHead"];
                };
            };
        };
    };
    verifyChain: {
        parameters: {
            query?: {
                from?: string;
                to?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ChainCheck"];
                };
            };
        };
    };
    listChainLinks: {
        parameters: {
            query?: {
                after?: number;
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ChainLink"][];
                };
            };
        };
    };
    getTransaction: {
        parameters: {
            query?: {
                /** @description Fields to answer with, dotted into objects; all unless given. */
                fields?: components["parameters"]["fields10"];
                /** @description The owners, and deleted entities. Lists show the user's own entities unless `all` is given, which takes a user of scope realm. `deleted` asks for deleted ones alone, `false` for both. */
                scope?: components["parameters"]["scope2"];
                /** @description Relations that are shown whole in place of their ids. */
                populate?: components["parameters"]["populate3"];
            };
            header?: {
                /** @description `etag` of an answer that is known: 304 where it would be the same. */
                "if-none-match"?: components["parameters"]["if-none-match"];
            };
            path: {
                id: components["parameters"]["id"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Transaction"] | components["schemas"]["TransactionPart"];
                };
            };
        };
    };
    updateTransaction: {
        parameters: {
            query?: never;
            header?: {
                /** @description A repeat with the same key gets the same answer and changes nothing; also a refusal is kept. Kept for 7 days. */
                "idempotency-key"?: components["parameters"]["idempotency-key"];
                /** @description `etag` of the version that is to be changed; another one is refused with 409. */
                "if-match"?: components["parameters"]["if-match"];
            };
            path: {
                id: components["parameters"]["id"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["TransactionChange"];
            };
        };
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Transaction"];
                };
            };
        };
    };
    revertTransaction: {
        parameters: {
            query?: {
                /** @description A boolean; its name as a string is taken too. */
                dry_run?: components["parameters"]["dry_run"];
            };
            header?: {
                /** @description A repeat with the same key gets the same answer and changes nothing; also a refusal is kept. Kept for 7 days. */
                "idempotency-key"?: components["parameters"]["idempotency-key"];
            };
            path: {
                id: components["parameters"]["id"];
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["Revert"];
            };
        };
        responses: {
            201: components["responses"]["Transaction"];
        };
    };
    listTransactions: {
        parameters: {
            query?: {
                /** @description A condition as JSON text: see the query language above. */
                query?: components["parameters"]["query"];
                /** @description Text that must be contained, in upper or lower case. */
                search?: components["parameters"]["search"];
                /** @description Fields that are searched; those of text unless given. */
                searchFields?: components["parameters"]["searchFields10"];
                /** @description The owners, and deleted entities. Lists show the user's own entities unless `all` is given, which takes a user of scope realm. `deleted` asks for deleted ones alone, `false` for both. */
                scope?: components["parameters"]["scope2"];
                /** @description Fields to answer with, dotted into objects; all unless given. */
                fields?: components["parameters"]["fields10"];
                /** @description Fields in order, with `-` before one to descend; `created_at` unless given. */
                sort?: components["parameters"]["sort10"];
                /** @description Relations that are shown whole in place of their ids. */
                populate?: components["parameters"]["populate3"];
                /** @description Which page, from 1. */
                page?: components["parameters"]["page"];
                /** @description Rows of a page; 10 unless given. */
                pageSize?: components["parameters"]["pageSize"];
            };
            header?: {
                /** @description `read=primary`: no replica answers, so the answer shows all that was written. */
                prefer?: components["parameters"]["prefer"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TransactionPage"];
                };
            };
        };
    };
    createTransaction: {
        parameters: {
            query?: {
                /** @description A boolean; its name as a string is taken too. */
                dry_run?: components["parameters"]["dry_run"];
            };
            header?: {
                /** @description A repeat with the same key gets the same answer and changes nothing; also a refusal is kept. Kept for 7 days. */
                "idempotency-key"?: components["parameters"]["idempotency-key"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewTransaction"];
            };
        };
        responses: {
            201: components["responses"]["Transaction"];
        };
    };
    createTransactionBatch: {
        parameters: {
            query?: {
                /** @description A boolean; its name as a string is taken too. */
                dry_run?: components["parameters"]["dry_run"];
            };
            header?: {
                /** @description A repeat with the same key gets the same answer and changes nothing; also a refusal is kept. Kept for 7 days. */
                "idempotency-key"?: components["parameters"]["idempotency-key"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewBatch"];
            };
        };
        responses: {
            /** @description Without atomic: the outcome of each. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Batch"];
                };
            };
            /** @description Success */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Batch"];
                };
            };
        };
    };
    findTransactions: {
        parameters: {
            query?: {
                /** @description A condition as JSON text: see the query language above. */
                query?: components["parameters"]["query"];
                /** @description Text that must be contained, in upper or lower case. */
                search?: components["parameters"]["search"];
                /** @description Fields that are searched; those of text unless given. */
                searchFields?: components["parameters"]["searchFields10"];
                /** @description The owners, and deleted entities. Lists show the user's own entities unless `all` is given, which takes a user of scope realm. `deleted` asks for deleted ones alone, `false` for both. */
                scope?: components["parameters"]["scope2"];
                /** @description Fields to answer with, dotted into objects; all unless given. */
                fields?: components["parameters"]["fields10"];
                /** @description Fields in order, with `-` before one to descend; `created_at` unless given. */
                sort?: components["parameters"]["sort10"];
                /** @description Relations that are shown whole in place of their ids. */
                populate?: components["parameters"]["populate3"];
                /** @description Most entities of the answer; 1000 unless given. */
                limit?: components["parameters"]["limit2"];
                /** @description Number of entities that are skipped first. */
                offset?: components["parameters"]["offset"];
                /** @description The id of the last one before: paging without a bound. */
                after?: components["parameters"]["after"];
                /** @description As `accept` says unless given. */
                format?: components["parameters"]["format"];
                /** @description CSV alone, which takes it: milliseconds since the epoch, included. */
                from?: components["parameters"]["from"];
                /** @description CSV alone, which takes it: at most 400 days after `from`, included. */
                to?: components["parameters"]["to"];
            };
            header?: {
                /** @description `read=primary`: no replica answers, so the answer shows all that was written. */
                prefer?: components["parameters"]["prefer"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": (components["schemas"]["Transaction"] | components["schemas"]["TransactionPart"])[];
                    "text/csv": string;
                };
            };
        };
    };
    countTransactions: {
        parameters: {
            query?: {
                /** @description A condition as JSON text: see the query language above. */
                query?: components["parameters"]["query"];
                /** @description Text that must be contained, in upper or lower case. */
                search?: components["parameters"]["search"];
                /** @description Fields that are searched; those of text unless given. */
                searchFields?: components["parameters"]["searchFields10"];
                /** @description The owners, and deleted entities. Lists show the user's own entities unless `all` is given, which takes a user of scope realm. `deleted` asks for deleted ones alone, `false` for both. */
                scope?: components["parameters"]["scope2"];
            };
            header?: {
                /** @description `read=primary`: no replica answers, so the answer shows all that was written. */
                prefer?: components["parameters"]["prefer"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: components["responses"]["Count"];
        };
    };
    getWithdrawalEstimate: {
        parameters: {
            query?: {
                account?: components["schemas"]["Id"];
                address?: string;
                amount?: components["schemas"]["Amount"];
                speed?: components["schemas"]["Speed"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    account?: components["schemas"]["Id"];
                    address?: string;
                    amount?: components["schemas"]["Amount"];
                    speed?: components["schemas"]["Speed"];
                };
            };
        };
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": string;
                };
            };
        };
    };
    estimateWithdrawal: {
        parameters: {
            query?: never;
            header?: {
                /** @description A repeat with the same key gets the same answer and changes nothing; also a refusal is kept. Kept for 7 days. */
                "idempotency-key"?: components["parameters"]["idempotency-key"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Estimate"];
            };
        };
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": string;
                };
            };
        };
    };
    listWithdrawals: {
        parameters: {
            query?: {
                /** @description A condition as JSON text: see the query language above. */
                query?: components["parameters"]["query"];
                /** @description Text that must be contained, in upper or lower case. */
                search?: components["parameters"]["search"];
                /** @description Fields that are searched; those of text unless given. */
                searchFields?: components["parameters"]["searchFields11"];
                /** @description The owners, and deleted entities. Lists show the user's own entities unless `all` is given, which takes a user of scope realm. `deleted` asks for deleted ones alone, `false` for both. */
                scope?: components["parameters"]["scope"];
                /** @description Fields to answer with, dotted into objects; all unless given. */
                fields?: components["parameters"]["fields11"];
                /** @description Fields in order, with `-` before one to descend; `created_at` unless given. */
                sort?: components["parameters"]["sort11"];
                /** @description Relations that are shown whole in place of their ids. */
                populate?: components["parameters"]["populate3"];
                /** @description Which page, from 1. */
                page?: components["parameters"]["page"];
                /** @description Rows of a page; 10 unless given. */
                pageSize?: components["parameters"]["pageSize"];
            };
            header?: {
                /** @description `read=primary`: no replica answers, so the answer shows all that was written. */
                prefer?: components["parameters"]["prefer"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WithdrawalPage"];
                };
            };
        };
    };
    createWithdrawal: {
        parameters: {
            query?: {
                /** @description A boolean; its name as a string is taken too. */
                dry_run?: components["parameters"]["dry_run"];
            };
            header?: {
                /** @description A repeat with the same key gets the same answer and changes nothing; also a refusal is kept. Kept for 7 days. */
                "idempotency-key"?: components["parameters"]["idempotency-key"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewWithdrawal"];
            };
        };
        responses: {
            /** @description Success */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Withdrawal"];
                };
            };
        };
    };
    findWithdrawals: {
        parameters: {
            query?: {
                /** @description A condition as JSON text: see the query language above. */
                query?: components["parameters"]["query"];
                /** @description Text that must be contained, in upper or lower case. */
                search?: components["parameters"]["search"];
                /** @description Fields that are searched; those of text unless given. */
                searchFields?: components["parameters"]["searchFields11"];
                /** @description The owners, and deleted entities. Lists show the user's own entities unless `all` is given, which takes a user of scope realm. `deleted` asks for deleted ones alone, `false` for both. */
                scope?: components["parameters"]["scope"];
                /** @description Fields to answer with, dotted into objects; all unless given. */
                fields?: components["parameters"]["fields11"];
                /** @description Fields in order, with `-` before one to descend; `created_at` unless given. */
                sort?: components["parameters"]["sort11"];
                /** @description Relations that are shown whole in place of their ids. */
                populate?: components["parameters"]["populate3"];
                /** @description Most entities of the answer; 1000 unless given. */
                limit?: components["parameters"]["limit2"];
                /** @description Number of entities that are skipped first. */
                offset?: components["parameters"]["offset"];
                /** @description The id of the last one before: paging without a bound. */
                after?: components["parameters"]["after"];
                /** @description As `accept` says unless given. */
                format?: components["parameters"]["format"];
                /** @description CSV alone, which takes it: milliseconds since the epoch, included. */
                from?: components["parameters"]["from"];
                /** @description CSV alone, which takes it: at most 400 days after `from`, included. */
                to?: components["parameters"]["to"];
            };
            header?: {
                /** @description `read=primary`: no replica answers, so the answer shows all that was written. */
                prefer?: components["parameters"]["prefer"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": (components["schemas"]["Withdrawal"] | components["schemas"]["WithdrawalPart"])[];
                    "text/csv": string;
                };
            };
        };
    };
    countWithdrawals: {
        parameters: {
            query?: {
                /** @description A condition as JSON text: see the query language above. */
                query?: components["parameters"]["query"];
                /** @description Text that must be contained, in upper or lower case. */
                search?: components["parameters"]["search"];
                /** @description Fields that are searched; those of text unless given. */
                searchFields?: components["parameters"]["searchFields11"];
                /** @description The owners, and deleted entities. Lists show the user's own entities unless `all` is given, which takes a user of scope realm. `deleted` asks for deleted ones alone, `false` for both. */
                scope?: components["parameters"]["scope"];
            };
            header?: {
                /** @description `read=primary`: no replica answers, so the answer shows all that was written. */
                prefer?: components["parameters"]["prefer"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: components["responses"]["Count"];
        };
    };
    getWithdrawal: {
        parameters: {
            query?: {
                /** @description Fields to answer with, dotted into objects; all unless given. */
                fields?: components["parameters"]["fields11"];
                /** @description The owners, and deleted entities. Lists show the user's own entities unless `all` is given, which takes a user of scope realm. `deleted` asks for deleted ones alone, `false` for both. */
                scope?: components["parameters"]["scope"];
                /** @description Relations that are shown whole in place of their ids. */
                populate?: components["parameters"]["populate3"];
            };
            header?: {
                /** @description `etag` of an answer that is known: 304 where it would be the same. */
                "if-none-match"?: components["parameters"]["if-none-match"];
            };
            path: {
                id: components["parameters"]["id"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Withdrawal"] | components["schemas"]["WithdrawalPart"];
                };
            };
        };
    };
    updateWithdrawal: {
        parameters: {
            query?: never;
            header?: {
                /** @description A repeat with the same key gets the same answer and changes nothing; also a refusal is kept. Kept for 7 days. */
                "idempotency-key"?: components["parameters"]["idempotency-key"];
                /** @description `etag` of the version that is to be changed; another one is refused with 409. */
                "if-match"?: components["parameters"]["if-match"];
            };
            path: {
                id: components["parameters"]["id"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    data: components["schemas"]["FreeForm"];
                };
            };
        };
        responses: {
            200: components["responses"]["Withdrawal"];
        };
    };
    speedUpWithdrawal: {
        parameters: {
            query?: {
                /** @description A boolean; its name as a string is taken too. */
                dry_run?: components["parameters"]["dry_run"];
            };
            header?: {
                /** @description A repeat with the same key gets the same answer and changes nothing; also a refusal is kept. Kept for 7 days. */
                "idempotency-key"?: components["parameters"]["idempotency-key"];
                /** @description `etag` of the version that is to be changed; another one is refused with 409. */
                "if-match"?: components["parameters"]["if-match"];
            };
            path: {
                id: components["parameters"]["id"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    speed: components["schemas"]["Speed"];
                    /** @description The most that the fee may be after it, in whole units of the account's asset; it raises that of the withdrawal, which counts where it is unset. */
                    max_fee?: components["schemas"]["AmountOrZero"];
                };
            };
        };
        responses: {
            200: components["responses"]["Withdrawal"];
        };
    };
    cancelWithdrawal: {
        parameters: {
            query?: {
                /** @description A boolean; its name as a string is taken too. */
                dry_run?: components["parameters"]["dry_run"];
            };
            header?: {
                /** @description A repeat with the same key gets the same answer and changes nothing; also a refusal is kept. Kept for 7 days. */
                "idempotency-key"?: components["parameters"]["idempotency-key"];
                /** @description `etag` of the version that is to be changed; another one is refused with 409. */
                "if-match"?: components["parameters"]["if-match"];
            };
            path: {
                id: components["parameters"]["id"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: components["responses"]["Withdrawal"];
        };
    };
    deployToken: {
        parameters: {
            query?: never;
            header?: {
                /** @description A repeat with the same key gets the same answer and changes nothing; also a refusal is kept. Kept for 7 days. */
                "idempotency-key"?: components["parameters"]["idempotency-key"];
                /** @description `wait=N`, from 1 to 30 seconds: answers when the entity is ready, or then. */
                prefer?: components["parameters"]["prefer2"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewToken"];
            };
        };
        responses: {
            /** @description Success */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DeployedToken"];
                };
            };
        };
    };
    registerToken: {
        parameters: {
            query?: never;
            header?: {
                /** @description A repeat with the same key gets the same answer and changes nothing; also a refusal is kept. Kept for 7 days. */
                "idempotency-key"?: components["parameters"]["idempotency-key"];
                /** @description `wait=N`, from 1 to 30 seconds: answers when the entity is ready, or then. */
                prefer?: components["parameters"]["prefer2"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["TokenRegistration"];
            };
        };
        responses: {
            /** @description Success */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RegisteredToken"];
                };
            };
        };
    };
    findTokens: {
        parameters: {
            query?: {
                /** @description A condition as JSON text: see the query language above. */
                query?: components["parameters"]["query"];
                /** @description Text that must be contained, in upper or lower case. */
                search?: components["parameters"]["search"];
                /** @description Fields that are searched; those of text unless given. */
                searchFields?: components["parameters"]["searchFields12"];
                /** @description The owners, and deleted entities. Lists show the user's own entities unless `all` is given, which takes a user of scope realm. `deleted` asks for deleted ones alone, `false` for both. */
                scope?: components["parameters"]["scope"];
                /** @description Fields to answer with, dotted into objects; all unless given. */
                fields?: components["parameters"]["fields12"];
                /** @description Fields in order, with `-` before one to descend; `created_at` unless given. */
                sort?: components["parameters"]["sort12"];
                /** @description Nothing of these can be populated. */
                populate?: components["parameters"]["populate"];
                /** @description Most entities of the answer; 1000 unless given. */
                limit?: components["parameters"]["limit2"];
                /** @description Number of entities that are skipped first. */
                offset?: components["parameters"]["offset"];
                /** @description The id of the last one before: paging without a bound. */
                after?: components["parameters"]["after"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": (components["schemas"]["FungibleToken"] | components["schemas"]["FungibleTokenPart"])[];
                };
            };
        };
    };
    listTokens: {
        parameters: {
            query?: {
                /** @description A condition as JSON text: see the query language above. */
                query?: components["parameters"]["query"];
                /** @description Text that must be contained, in upper or lower case. */
                search?: components["parameters"]["search"];
                /** @description Fields that are searched; those of text unless given. */
                searchFields?: components["parameters"]["searchFields12"];
                /** @description The owners, and deleted entities. Lists show the user's own entities unless `all` is given, which takes a user of scope realm. `deleted` asks for deleted ones alone, `false` for both. */
                scope?: components["parameters"]["scope"];
                /** @description Fields to answer with, dotted into objects; all unless given. */
                fields?: components["parameters"]["fields12"];
                /** @description Fields in order, with `-` before one to descend; `created_at` unless given. */
                sort?: components["parameters"]["sort12"];
                /** @description Nothing of these can be populated. */
                populate?: components["parameters"]["populate"];
                /** @description Which page, from 1. */
                page?: components["parameters"]["page"];
                /** @description Rows of a page; 10 unless given. */
                pageSize?: components["parameters"]["pageSize"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["FungibleTokenPage"];
                };
            };
        };
    };
    countTokens: {
        parameters: {
            query?: {
                /** @description A condition as JSON text: see the query language above. */
                query?: components["parameters"]["query"];
                /** @description Text that must be contained, in upper or lower case. */
                search?: components["parameters"]["search"];
                /** @description Fields that are searched; those of text unless given. */
                searchFields?: components["parameters"]["searchFields12"];
                /** @description The owners, and deleted entities. Lists show the user's own entities unless `all` is given, which takes a user of scope realm. `deleted` asks for deleted ones alone, `false` for both. */
                scope?: components["parameters"]["scope"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: components["responses"]["Count2"];
        };
    };
    getToken: {
        parameters: {
            query?: {
                /** @description Fields to answer with, dotted into objects; all unless given. */
                fields?: components["parameters"]["fields12"];
                /** @description The owners, and deleted entities. Lists show the user's own entities unless `all` is given, which takes a user of scope realm. `deleted` asks for deleted ones alone, `false` for both. */
                scope?: components["parameters"]["scope"];
                /** @description Nothing of these can be populated. */
                populate?: components["parameters"]["populate"];
            };
            header?: {
                /** @description `etag` of an answer that is known: 304 where it would be the same. */
                "if-none-match"?: components["parameters"]["if-none-match"];
            };
            path: {
                id: components["parameters"]["id"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["FungibleToken"] | components["schemas"]["FungibleTokenPart"];
                };
            };
        };
    };
    deleteToken: {
        parameters: {
            query?: never;
            header?: {
                /** @description `etag` of the version that is to be changed; another one is refused with 409. */
                "if-match"?: components["parameters"]["if-match"];
            };
            path: {
                id: components["parameters"]["id"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["FungibleToken"];
                };
            };
        };
    };
    undeleteToken: {
        parameters: {
            query?: never;
            header?: {
                /** @description A repeat with the same key gets the same answer and changes nothing; also a refusal is kept. Kept for 7 days. */
                "idempotency-key"?: components["parameters"]["idempotency-key"];
                /** @description `etag` of the version that is to be changed; another one is refused with 409. */
                "if-match"?: components["parameters"]["if-match"];
            };
            path: {
                id: components["parameters"]["id"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["FungibleToken"];
                };
            };
        };
    };
    listRamps: {
        parameters: {
            query?: {
                /** @description A condition as JSON text: see the query language above. */
                query?: components["parameters"]["query"];
                /** @description Text that must be contained, in upper or lower case. */
                search?: components["parameters"]["search"];
                /** @description Fields that are searched; those of text unless given. */
                searchFields?: components["parameters"]["searchFields13"];
                /** @description The owners, and deleted entities. Lists show the user's own entities unless `all` is given, which takes a user of scope realm. `deleted` asks for deleted ones alone, `false` for both. */
                scope?: components["parameters"]["scope"];
                /** @description Fields to answer with, dotted into objects; all unless given. */
                fields?: components["parameters"]["fields13"];
                /** @description Fields in order, with `-` before one to descend; `created_at` unless given. */
                sort?: components["parameters"]["sort13"];
                /** @description Relations that are shown whole in place of their ids. */
                populate?: components["parameters"]["populate7"];
                /** @description Which page, from 1. */
                page?: components["parameters"]["page"];
                /** @description Rows of a page; 10 unless given. */
                pageSize?: components["parameters"]["pageSize"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ExternalRampPage"];
                };
            };
        };
    };
    createRamp: {
        parameters: {
            query?: never;
            header?: {
                /** @description A repeat with the same key gets the same answer and changes nothing; also a refusal is kept. Kept for 7 days. */
                "idempotency-key"?: components["parameters"]["idempotency-key"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewExternalRamp"];
            };
        };
        responses: {
            /** @description Success */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ExternalRamp"];
                };
            };
        };
    };
    listSupportedRamps: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Exchange"][];
                };
            };
        };
    };
    findRamps: {
        parameters: {
            query?: {
                /** @description A condition as JSON text: see the query language above. */
                query?: components["parameters"]["query"];
                /** @description Text that must be contained, in upper or lower case. */
                search?: components["parameters"]["search"];
                /** @description Fields that are searched; those of text unless given. */
                searchFields?: components["parameters"]["searchFields13"];
                /** @description The owners, and deleted entities. Lists show the user's own entities unless `all` is given, which takes a user of scope realm. `deleted` asks for deleted ones alone, `false` for both. */
                scope?: components["parameters"]["scope"];
                /** @description Fields to answer with, dotted into objects; all unless given. */
                fields?: components["parameters"]["fields13"];
                /** @description Fields in order, with `-` before one to descend; `created_at` unless given. */
                sort?: components["parameters"]["sort13"];
                /** @description Relations that are shown whole in place of their ids. */
                populate?: components["parameters"]["populate7"];
                /** @description Most entities of the answer; 1000 unless given. */
                limit?: components["parameters"]["limit2"];
                /** @description Number of entities that are skipped first. */
                offset?: components["parameters"]["offset"];
                /** @description The id of the last one before: paging without a bound. */
                after?: components["parameters"]["after"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": (components["schemas"]["ExternalRamp"] | components["schemas"]["ExternalRampPart"])[];
                };
            };
        };
    };
    countRamps: {
        parameters: {
            query?: {
                /** @description A condition as JSON text: see the query language above. */
                query?: components["parameters"]["query"];
                /** @description Text that must be contained, in upper or lower case. */
                search?: components["parameters"]["search"];
                /** @description Fields that are searched; those of text unless given. */
                searchFields?: components["parameters"]["searchFields13"];
                /** @description The owners, and deleted entities. Lists show the user's own entities unless `all` is given, which takes a user of scope realm. `deleted` asks for deleted ones alone, `false` for both. */
                scope?: components["parameters"]["scope"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: components["responses"]["Count2"];
        };
    };
    getRamp: {
        parameters: {
            query?: {
                /** @description Fields to answer with, dotted into objects; all unless given. */
                fields?: components["parameters"]["fields13"];
                /** @description The owners, and deleted entities. Lists show the user's own entities unless `all` is given, which takes a user of scope realm. `deleted` asks for deleted ones alone, `false` for both. */
                scope?: components["parameters"]["scope"];
                /** @description Relations that are shown whole in place of their ids. */
                populate?: components["parameters"]["populate7"];
            };
            header?: never;
            path: {
                id: components["parameters"]["id"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ExternalRamp"] | components["schemas"]["ExternalRampPart"];
                };
            };
        };
    };
    deleteRamp: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: components["parameters"]["id"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ExternalRamp"];
                };
            };
        };
    };
    updateRamp: {
        parameters: {
            query?: never;
            header?: {
                /** @description A repeat with the same key gets the same answer and changes nothing; also a refusal is kept. Kept for 7 days. */
                "idempotency-key"?: components["parameters"]["idempotency-key"];
            };
            path: {
                id: components["parameters"]["id"];
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["ExternalRampChange"];
            };
        };
        responses: {
            200: components["responses"]["ExternalRamp"];
        };
    };
    undeleteRamp: {
        parameters: {
            query?: never;
            header?: {
                /** @description A repeat with the same key gets the same answer and changes nothing; also a refusal is kept. Kept for 7 days. */
                "idempotency-key"?: components["parameters"]["idempotency-key"];
            };
            path: {
                id: components["parameters"]["id"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: components["responses"]["ExternalRamp"];
        };
    };
    listRampCountries: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: components["parameters"]["id"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": string[];
                };
            };
        };
    };
    listRampAssets: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: components["parameters"]["id"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ExchangeAsset"][];
                };
            };
        };
    };
    depositFromRamp: {
        parameters: {
            query?: {
                /** @description A boolean; its name as a string is taken too. */
                dry_run?: components["parameters"]["dry_run"];
            };
            header?: {
                /** @description A repeat with the same key gets the same answer and changes nothing; also a refusal is kept. Kept for 7 days. */
                "idempotency-key"?: components["parameters"]["idempotency-key"];
            };
            path: {
                id: components["parameters"]["id"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewRampDeposit"];
            };
        };
        responses: {
            201: components["responses"]["RampTransfer"];
        };
    };
    withdrawToRamp: {
        parameters: {
            query?: {
                /** @description A boolean; its name as a string is taken too. */
                dry_run?: components["parameters"]["dry_run"];
            };
            header?: {
                /** @description A repeat with the same key gets the same answer and changes nothing; also a refusal is kept. Kept for 7 days. */
                "idempotency-key"?: components["parameters"]["idempotency-key"];
            };
            path: {
                id: components["parameters"]["id"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewRampWithdraw"];
            };
        };
        responses: {
            201: components["responses"]["RampTransfer"];
        };
    };
    listRampTransfers: {
        parameters: {
            query?: {
                status?: "PROCESSING" | "UNCLEAR" | "DONE" | "FAILED";
                /** @description Which page, from 1. */
                page?: components["parameters"]["page"];
                /** @description Rows of a page; 10 unless given. */
                pageSize?: components["parameters"]["pageSize"];
            };
            header?: never;
            path: {
                id: components["parameters"]["id"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RampTransferPage"];
                };
            };
        };
    };
    getRampTransfer: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: components["parameters"]["id"];
                transfer: components["parameters"]["transfer"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RampTransfer"];
                };
            };
        };
    };
    resolveRampTransfer: {
        parameters: {
            query?: never;
            header?: {
                /** @description A repeat with the same key gets the same answer and changes nothing; also a refusal is kept. Kept for 7 days. */
                "idempotency-key"?: components["parameters"]["idempotency-key"];
            };
            path: {
                id: components["parameters"]["id"];
                transfer: components["parameters"]["transfer"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["TransferResolution"];
            };
        };
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RampTransfer"];
                };
            };
        };
    };
    findEntities: {
        parameters: {
            query: {
                /** @description What is searched: an id, the beginning of a user's, an identity's or an alias's name, or the whole of an e-mail address, a telephone number, an account's reference, an address or a transaction's hash. No character stands for others. */
                q: string;
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Found"][];
                };
            };
        };
    };
    getSolvency: {
        parameters: {
            query?: {
                asset?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Solvency"][];
                };
            };
        };
    };
    getSolvencyHistory: {
        parameters: {
            query: {
                asset: string;
                /** @description A boolean; its name as a string is taken too. */
                testnet?: components["parameters"]["testnet"];
                /** @description Milliseconds since the epoch, included; a day before `to` unless given. */
                from?: components["parameters"]["from2"];
                /** @description Milliseconds since the epoch, included; the present unless given. */
                to?: components["parameters"]["to2"];
                /** @description How many moments, the first at `from` and the last at `to`. */
                points?: components["parameters"]["points"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SolvencyHistory"];
                };
            };
        };
    };
    createCover: {
        parameters: {
            query?: {
                /** @description A boolean; its name as a string is taken too. */
                dry_run?: components["parameters"]["dry_run"];
            };
            header?: {
                /** @description A repeat with the same key gets the same answer and changes nothing; also a refusal is kept. Kept for 7 days. */
                "idempotency-key"?: components["parameters"]["idempotency-key"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Cover"];
            };
        };
        responses: {
            /** @description Success */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CoveredLoss"];
                };
            };
        };
    };
    createWriteOff: {
        parameters: {
            query?: {
                /** @description A boolean; its name as a string is taken too. */
                dry_run?: components["parameters"]["dry_run"];
            };
            header?: {
                /** @description A repeat with the same key gets the same answer and changes nothing; also a refusal is kept. Kept for 7 days. */
                "idempotency-key"?: components["parameters"]["idempotency-key"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["WriteOff"];
            };
        };
        responses: {
            /** @description Success */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WrittenOff"];
                };
            };
        };
    };
    getFlows: {
        parameters: {
            query?: {
                /** @description Milliseconds since the epoch; the flows begin with the hour or the day (UTC) of this moment. Unless given, an answer by the hour has 24 hours, one by the day 30 days. */
                from?: number;
                /** @description Milliseconds since the epoch, included; the present unless given. */
                to?: components["parameters"]["to2"];
                /** @description A range has at most 744 hours, or 366 days (UTC). */
                step?: "hour" | "day";
                /** @description What is told apart; the rest is added up. Without `asset` no flow has an amount, since amounts of several assets have no sum. */
                by?: "asset,type" | "type,asset" | "asset" | "type";
                /** @description Of one asset alone. */
                asset?: string;
                /** @description Transactions of one type alone. */
                type?: "transfer" | "deposit" | "forward" | "withdrawal" | "return" | "fee" | "issue" | "destroy" | "capture" | "revert";
                /** @description A boolean; its name as a string is taken too. */
                testnet?: components["parameters"]["testnet"];
            };
            header?: {
                /** @description `read=primary`: no replica answers, so the answer shows all that was written. */
                prefer?: components["parameters"]["prefer"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Flows"];
                };
            };
        };
    };
    getWithdrawalStatistics: {
        parameters: {
            query?: {
                /** @description Milliseconds since the epoch, included; a day before `to` unless given. */
                from?: components["parameters"]["from2"];
                /** @description Milliseconds since the epoch, included; the present unless given. */
                to?: components["parameters"]["to2"];
                /** @description Those of one asset alone, among the newest 20000 of the range. */
                asset?: components["parameters"]["asset"];
                /** @description A boolean; its name as a string is taken too. */
                testnet?: components["parameters"]["testnet"];
            };
            header?: {
                /** @description `read=primary`: no replica answers, so the answer shows all that was written. */
                prefer?: components["parameters"]["prefer"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WithdrawalStatistics"];
                };
            };
        };
    };
    getDepositStatistics: {
        parameters: {
            query?: {
                /** @description Milliseconds since the epoch, included; a day before `to` unless given. */
                from?: components["parameters"]["from2"];
                /** @description Milliseconds since the epoch, included; the present unless given. */
                to?: components["parameters"]["to2"];
                /** @description Those of one asset alone, among the newest 20000 of the range. */
                asset?: components["parameters"]["asset"];
                /** @description A boolean; its name as a string is taken too. */
                testnet?: components["parameters"]["testnet"];
            };
            header?: {
                /** @description `read=primary`: no replica answers, so the answer shows all that was written. */
                prefer?: components["parameters"]["prefer"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DepositStatistics"];
                };
            };
        };
    };
    listStops: {
        parameters: {
            query?: {
                /** @description A condition as JSON text: see the query language above. */
                query?: components["parameters"]["query"];
                /** @description Text that must be contained, in upper or lower case. */
                search?: components["parameters"]["search"];
                /** @description Fields that are searched; those of text unless given. */
                searchFields?: components["parameters"]["searchFields14"];
                /** @description The owners, and deleted entities. Lists show the user's own entities unless `all` is given, which takes a user of scope realm. `deleted` asks for deleted ones alone, `false` for both. */
                scope?: components["parameters"]["scope"];
                /** @description Fields to answer with, dotted into objects; all unless given. */
                fields?: components["parameters"]["fields14"];
                /** @description Fields in order, with `-` before one to descend; `created_at` unless given. */
                sort?: components["parameters"]["sort14"];
                /** @description Nothing of these can be populated. */
                populate?: components["parameters"]["populate"];
                /** @description Which page, from 1. */
                page?: components["parameters"]["page"];
                /** @description Rows of a page; 10 unless given. */
                pageSize?: components["parameters"]["pageSize"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StopPage"];
                };
            };
        };
    };
    createStop: {
        parameters: {
            query?: never;
            header?: {
                /** @description A repeat with the same key gets the same answer and changes nothing; also a refusal is kept. Kept for 7 days. */
                "idempotency-key"?: components["parameters"]["idempotency-key"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewStop"];
            };
        };
        responses: {
            /** @description Success */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Stop"];
                };
            };
        };
    };
    findStops: {
        parameters: {
            query?: {
                /** @description A condition as JSON text: see the query language above. */
                query?: components["parameters"]["query"];
                /** @description Text that must be contained, in upper or lower case. */
                search?: components["parameters"]["search"];
                /** @description Fields that are searched; those of text unless given. */
                searchFields?: components["parameters"]["searchFields14"];
                /** @description The owners, and deleted entities. Lists show the user's own entities unless `all` is given, which takes a user of scope realm. `deleted` asks for deleted ones alone, `false` for both. */
                scope?: components["parameters"]["scope"];
                /** @description Fields to answer with, dotted into objects; all unless given. */
                fields?: components["parameters"]["fields14"];
                /** @description Fields in order, with `-` before one to descend; `created_at` unless given. */
                sort?: components["parameters"]["sort14"];
                /** @description Nothing of these can be populated. */
                populate?: components["parameters"]["populate"];
                /** @description Most entities of the answer; 1000 unless given. */
                limit?: components["parameters"]["limit2"];
                /** @description Number of entities that are skipped first. */
                offset?: components["parameters"]["offset"];
                /** @description The id of the last one before: paging without a bound. */
                after?: components["parameters"]["after"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": (components["schemas"]["Stop"] | components["schemas"]["StopPart"])[];
                };
            };
        };
    };
    countStops: {
        parameters: {
            query?: {
                /** @description A condition as JSON text: see the query language above. */
                query?: components["parameters"]["query"];
                /** @description Text that must be contained, in upper or lower case. */
                search?: components["parameters"]["search"];
                /** @description Fields that are searched; those of text unless given. */
                searchFields?: components["parameters"]["searchFields14"];
                /** @description The owners, and deleted entities. Lists show the user's own entities unless `all` is given, which takes a user of scope realm. `deleted` asks for deleted ones alone, `false` for both. */
                scope?: components["parameters"]["scope"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: components["responses"]["Count2"];
        };
    };
    getStop: {
        parameters: {
            query?: {
                /** @description Fields to answer with, dotted into objects; all unless given. */
                fields?: components["parameters"]["fields14"];
                /** @description The owners, and deleted entities. Lists show the user's own entities unless `all` is given, which takes a user of scope realm. `deleted` asks for deleted ones alone, `false` for both. */
                scope?: components["parameters"]["scope"];
                /** @description Nothing of these can be populated. */
                populate?: components["parameters"]["populate"];
            };
            header?: never;
            path: {
                id: components["parameters"]["id"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Stop"] | components["schemas"]["StopPart"];
                };
            };
        };
    };
    liftStop: {
        parameters: {
            query?: {
                /** @description With the platform key: the stop's realm. */
                realm?: string;
            };
            header?: never;
            path: {
                id: components["parameters"]["id"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Stop"];
                };
            };
        };
    };
    listJobs: {
        parameters: {
            query?: {
                /** @description `late`: ready, and due for over a minute. */
                state?: "dead" | "late" | "running" | "ready";
                name?: "account.enable" | "deposit.rescan" | "deposit.sweep" | "deposit.swept" | "exchange.advance" | "exchange.check" | "message.send" | "order.advance" | "persons.sync" | "ramp.open" | "ramp.reserve" | "token.check";
                /** @description The last job of the page before. */
                after?: components["schemas"]["Id"];
                limit?: components["parameters"]["limit5"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Job"][];
                };
            };
        };
    };
    getJob: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: components["parameters"]["id"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Job"];
                };
            };
        };
    };
    retryJob: {
        parameters: {
            query?: never;
            header?: {
                /** @description A repeat with the same key gets the same answer and changes nothing; also a refusal is kept. Kept for 7 days. */
                "idempotency-key"?: components["parameters"]["idempotency-key"];
            };
            path: {
                id: components["parameters"]["id"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: components["responses"]["Job"];
        };
    };
    discardJob: {
        parameters: {
            query?: never;
            header?: {
                /** @description A repeat with the same key gets the same answer and changes nothing; also a refusal is kept. Kept for 7 days. */
                "idempotency-key"?: components["parameters"]["idempotency-key"];
            };
            path: {
                id: components["parameters"]["id"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["DiscardJob"];
            };
        };
        responses: {
            200: components["responses"]["Job"];
        };
    };
    listNotes: {
        parameters: {
            query?: {
                /** @description The id of an entity; the realm's latest notes unless given. */
                entity?: string;
                limit?: number;
                /** @description The last note of the page before. */
                after?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Note"][];
                };
            };
        };
    };
    createNote: {
        parameters: {
            query?: never;
            header?: {
                /** @description A repeat with the same key gets the same answer and changes nothing; also a refusal is kept. Kept for 7 days. */
                "idempotency-key"?: components["parameters"]["idempotency-key"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewNote"];
            };
        };
        responses: {
            /** @description Success */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Note"];
                };
            };
        };
    };
    listWebhooks: {
        parameters: {
            query?: {
                /** @description A condition as JSON text: see the query language above. */
                query?: components["parameters"]["query"];
                /** @description Text that must be contained, in upper or lower case. */
                search?: components["parameters"]["search"];
                /** @description Fields that are searched; those of text unless given. */
                searchFields?: components["parameters"]["searchFields15"];
                /** @description The owners, and deleted entities. Lists show the user's own entities unless `all` is given, which takes a user of scope realm. `deleted` asks for deleted ones alone, `false` for both. */
                scope?: components["parameters"]["scope"];
                /** @description Fields to answer with, dotted into objects; all unless given. */
                fields?: components["parameters"]["fields15"];
                /** @description Fields in order, with `-` before one to descend; `created_at` unless given. */
                sort?: components["parameters"]["sort15"];
                /** @description Nothing of these can be populated. */
                populate?: components["parameters"]["populate"];
                /** @description Which page, from 1. */
                page?: components["parameters"]["page"];
                /** @description Rows of a page; 10 unless given. */
                pageSize?: components["parameters"]["pageSize"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookPage"];
                };
            };
        };
    };
    createWebhook: {
        parameters: {
            query?: never;
            header?: {
                /** @description A repeat with the same key gets the same answer and changes nothing; also a refusal is kept. Kept for 7 days. */
                "idempotency-key"?: components["parameters"]["idempotency-key"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewWebhook"];
            };
        };
        responses: {
            /** @description Success */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookWithSecret"];
                };
            };
        };
    };
    findWebhooks: {
        parameters: {
            query?: {
                /** @description A condition as JSON text: see the query language above. */
                query?: components["parameters"]["query"];
                /** @description Text that must be contained, in upper or lower case. */
                search?: components["parameters"]["search"];
                /** @description Fields that are searched; those of text unless given. */
                searchFields?: components["parameters"]["searchFields15"];
                /** @description The owners, and deleted entities. Lists show the user's own entities unless `all` is given, which takes a user of scope realm. `deleted` asks for deleted ones alone, `false` for both. */
                scope?: components["parameters"]["scope"];
                /** @description Fields to answer with, dotted into objects; all unless given. */
                fields?: components["parameters"]["fields15"];
                /** @description Fields in order, with `-` before one to descend; `created_at` unless given. */
                sort?: components["parameters"]["sort15"];
                /** @description Nothing of these can be populated. */
                populate?: components["parameters"]["populate"];
                /** @description Most entities of the answer; 1000 unless given. */
                limit?: components["parameters"]["limit2"];
                /** @description Number of entities that are skipped first. */
                offset?: components["parameters"]["offset"];
                /** @description The id of the last one before: paging without a bound. */
                after?: components["parameters"]["after"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": (components["schemas"]["Webhook"] | components["schemas"]["WebhookPart"])[];
                };
            };
        };
    };
    countWebhooks: {
        parameters: {
            query?: {
                /** @description A condition as JSON text: see the query language above. */
                query?: components["parameters"]["query"];
                /** @description Text that must be contained, in upper or lower case. */
                search?: components["parameters"]["search"];
                /** @description Fields that are searched; those of text unless given. */
                searchFields?: components["parameters"]["searchFields15"];
                /** @description The owners, and deleted entities. Lists show the user's own entities unless `all` is given, which takes a user of scope realm. `deleted` asks for deleted ones alone, `false` for both. */
                scope?: components["parameters"]["scope"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: components["responses"]["Count2"];
        };
    };
    getWebhook: {
        parameters: {
            query?: {
                /** @description Fields to answer with, dotted into objects; all unless given. */
                fields?: components["parameters"]["fields15"];
                /** @description The owners, and deleted entities. Lists show the user's own entities unless `all` is given, which takes a user of scope realm. `deleted` asks for deleted ones alone, `false` for both. */
                scope?: components["parameters"]["scope"];
                /** @description Nothing of these can be populated. */
                populate?: components["parameters"]["populate"];
            };
            header?: never;
            path: {
                id: components["parameters"]["id"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Webhook"] | components["schemas"]["WebhookPart"];
                };
            };
        };
    };
    deleteWebhook: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: components["parameters"]["id"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Webhook"];
                };
            };
        };
    };
    updateWebhook: {
        parameters: {
            query?: never;
            header?: {
                /** @description A repeat with the same key gets the same answer and changes nothing; also a refusal is kept. Kept for 7 days. */
                "idempotency-key"?: components["parameters"]["idempotency-key"];
            };
            path: {
                id: components["parameters"]["id"];
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["WebhookChange"];
            };
        };
        responses: {
            200: components["responses"]["Webhook"];
        };
    };
    undeleteWebhook: {
        parameters: {
            query?: never;
            header?: {
                /** @description A repeat with the same key gets the same answer and changes nothing; also a refusal is kept. Kept for 7 days. */
                "idempotency-key"?: components["parameters"]["idempotency-key"];
            };
            path: {
                id: components["parameters"]["id"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: components["responses"]["Webhook"];
        };
    };
    rotateWebhookSecret: {
        parameters: {
            query?: never;
            header?: {
                /** @description A repeat with the same key gets the same answer and changes nothing; also a refusal is kept. Kept for 7 days. */
                "idempotency-key"?: components["parameters"]["idempotency-key"];
            };
            path: {
                id: components["parameters"]["id"];
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["SecretRotation"];
            };
        };
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookWithSecret"];
                };
            };
        };
    };
    testWebhook: {
        parameters: {
            query?: never;
            header?: {
                /** @description A repeat with the same key gets the same answer and changes nothing; also a refusal is kept. Kept for 7 days. */
                "idempotency-key"?: components["parameters"]["idempotency-key"];
            };
            path: {
                id: components["parameters"]["id"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookTest"];
                };
            };
        };
    };
    listDeliveries: {
        parameters: {
            query?: {
                status?: "PENDING" | "DELIVERED" | "FAILED";
                limit?: components["parameters"]["limit5"];
                /** @description Older ones than this delivery. */
                after?: components["schemas"]["Id"];
            };
            header?: never;
            path: {
                id: components["parameters"]["id"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Delivery"][];
                };
            };
        };
    };
    resendDeliveries: {
        parameters: {
            query?: never;
            header?: {
                /** @description A repeat with the same key gets the same answer and changes nothing; also a refusal is kept. Kept for 7 days. */
                "idempotency-key"?: components["parameters"]["idempotency-key"];
            };
            path: {
                id: components["parameters"]["id"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ResendSpan"];
            };
        };
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Resent"];
                };
            };
        };
    };
    resendDelivery: {
        parameters: {
            query?: never;
            header?: {
                /** @description A repeat with the same key gets the same answer and changes nothing; also a refusal is kept. Kept for 7 days. */
                "idempotency-key"?: components["parameters"]["idempotency-key"];
            };
            path: {
                id: components["parameters"]["id"];
                delivery: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Delivery"];
                };
            };
        };
    };
    streamEvents: {
        parameters: {
            query?: {
                /** @description Events of this type; it may be repeated. */
                type?: components["parameters"]["type"];
                /** @description Events about this entity. */
                entity?: components["parameters"]["entity"];
                /** @description Stands for the header last-event-id. */
                after?: components["schemas"]["Id"];
            };
            header?: {
                /** @description The last event that is known; the stream goes on after it. */
                "last-event-id"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": string;
                };
            };
        };
    };
    findEvents: {
        parameters: {
            query?: {
                /** @description Events of this type; it may be repeated. */
                type?: components["parameters"]["type"];
                /** @description Events about this entity. */
                entity?: components["parameters"]["entity"];
                /** @description The last event that is known; from the oldest kept one unless given. */
                after?: components["schemas"]["Id"];
                limit?: components["parameters"]["limit5"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Event"][];
                };
            };
        };
    };
    getOpenapi: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        openapi: string;
                    };
                };
            };
        };
    };
    openReference: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: never;
    };
    getReference: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: components["responses"]["Answer4"];
        };
    };
    getReferenceAsset: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/html": string;
                    "text/javascript": string;
                    "text/css": string;
                    "application/json": string;
                    "image/svg+xml": string;
                };
            };
        };
    };
    getProblem: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                code: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: components["responses"]["Answer4"];
        };
    };
    getGuides: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: components["responses"]["Answer4"];
        };
    };
    getGuide: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                section: string;
                page: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: components["responses"]["Answer4"];
        };
    };
    checkLiveness: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: components["responses"]["Health"];
        };
    };
    checkReadiness: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: components["responses"]["Health"];
        };
    };
    getMetrics: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/plain": string;
                };
            };
        };
    };
    onAccountEnabled: {
        parameters: {
            query?: never;
            header: {
                /** @description The id of the event. Repeats have the same: receivers drop them. */
                "webhook-id": string;
                /** @description When it was sent, in seconds since the epoch. */
                "webhook-timestamp": string;
                /** @description Signatures, parted by blanks: one of them must be the receiver's. */
                "webhook-signature": string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @constant */
                    type: "account.enabled";
                    /**
                     * Format: date-time
                     * @description When it happened.
                     */
                    timestamp: string;
                    data: components["schemas"]["Account"] | {
                        id: string;
                    };
                };
            };
        };
        responses: {
            /** @description The receiver is gone for ever: the webhook is deactivated. */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description It was taken. Any other answer, or none in 10 s: it is sent again. */
            "2XX": {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    onTransactionCreated: {
        parameters: {
            query?: never;
            header: {
                /** @description The id of the event. Repeats have the same: receivers drop them. */
                "webhook-id": string;
                /** @description When it was sent, in seconds since the epoch. */
                "webhook-timestamp": string;
                /** @description Signatures, parted by blanks: one of them must be the receiver's. */
                "webhook-signature": string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @constant */
                    type: "transaction.created";
                    /**
                     * Format: date-time
                     * @description When it happened.
                     */
                    timestamp: string;
                    data: components["schemas"]["Transaction"] | {
                        id: string;
                    };
                };
            };
        };
        responses: {
            /** @description The receiver is gone for ever: the webhook is deactivated. */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description It was taken. Any other answer, or none in 10 s: it is sent again. */
            "2XX": {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    onDepositPending: {
        parameters: {
            query?: never;
            header: {
                /** @description The id of the event. Repeats have the same: receivers drop them. */
                "webhook-id": string;
                /** @description When it was sent, in seconds since the epoch. */
                "webhook-timestamp": string;
                /** @description Signatures, parted by blanks: one of them must be the receiver's. */
                "webhook-signature": string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @constant */
                    type: "deposit.pending";
                    /**
                     * Format: date-time
                     * @description When it happened.
                     */
                    timestamp: string;
                    data: components["schemas"]["Deposit"] | {
                        id: string;
                    };
                };
            };
        };
        responses: {
            /** @description The receiver is gone for ever: the webhook is deactivated. */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description It was taken. Any other answer, or none in 10 s: it is sent again. */
            "2XX": {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    onDepositConfirmed: {
        parameters: {
            query?: never;
            header: {
                /** @description The id of the event. Repeats have the same: receivers drop them. */
                "webhook-id": string;
                /** @description When it was sent, in seconds since the epoch. */
                "webhook-timestamp": string;
                /** @description Signatures, parted by blanks: one of them must be the receiver's. */
                "webhook-signature": string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @constant */
                    type: "deposit.confirmed";
                    /**
                     * Format: date-time
                     * @description When it happened.
                     */
                    timestamp: string;
                    data: components["schemas"]["Deposit"] | {
                        id: string;
                    };
                };
            };
        };
        responses: {
            /** @description The receiver is gone for ever: the webhook is deactivated. */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description It was taken. Any other answer, or none in 10 s: it is sent again. */
            "2XX": {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    onDepositOrphaned: {
        parameters: {
            query?: never;
            header: {
                /** @description The id of the event. Repeats have the same: receivers drop them. */
                "webhook-id": string;
                /** @description When it was sent, in seconds since the epoch. */
                "webhook-timestamp": string;
                /** @description Signatures, parted by blanks: one of them must be the receiver's. */
                "webhook-signature": string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @constant */
                    type: "deposit.orphaned";
                    /**
                     * Format: date-time
                     * @description When it happened.
                     */
                    timestamp: string;
                    data: components["schemas"]["Deposit"] | {
                        id: string;
                    };
                };
            };
        };
        responses: {
            /** @description The receiver is gone for ever: the webhook is deactivated. */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description It was taken. Any other answer, or none in 10 s: it is sent again. */
            "2XX": {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    onDepositForwarded: {
        parameters: {
            query?: never;
            header: {
                /** @description The id of the event. Repeats have the same: receivers drop them. */
                "webhook-id": string;
                /** @description When it was sent, in seconds since the epoch. */
                "webhook-timestamp": string;
                /** @description Signatures, parted by blanks: one of them must be the receiver's. */
                "webhook-signature": string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @constant */
                    type: "deposit.forwarded";
                    /**
                     * Format: date-time
                     * @description When it happened.
                     */
                    timestamp: string;
                    data: components["schemas"]["Deposit"] | {
                        id: string;
                    };
                };
            };
        };
        responses: {
            /** @description The receiver is gone for ever: the webhook is deactivated. */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description It was taken. Any other answer, or none in 10 s: it is sent again. */
            "2XX": {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    onAppDepositUpdated: {
        parameters: {
            query?: never;
            header: {
                /** @description The id of the event. Repeats have the same: receivers drop them. */
                "webhook-id": string;
                /** @description When it was sent, in seconds since the epoch. */
                "webhook-timestamp": string;
                /** @description Signatures, parted by blanks: one of them must be the receiver's. */
                "webhook-signature": string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @constant */
                    type: "app.deposit.updated";
                    /**
                     * Format: date-time
                     * @description When it happened.
                     */
                    timestamp: string;
                    data: components["schemas"]["DepositApplication"] | {
                        id: string;
                    };
                };
            };
        };
        responses: {
            /** @description The receiver is gone for ever: the webhook is deactivated. */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description It was taken. Any other answer, or none in 10 s: it is sent again. */
            "2XX": {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    onWithdrawalUpdated: {
        parameters: {
            query?: never;
            header: {
                /** @description The id of the event. Repeats have the same: receivers drop them. */
                "webhook-id": string;
                /** @description When it was sent, in seconds since the epoch. */
                "webhook-timestamp": string;
                /** @description Signatures, parted by blanks: one of them must be the receiver's. */
                "webhook-signature": string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @constant */
                    type: "withdrawal.updated";
                    /**
                     * Format: date-time
                     * @description When it happened.
                     */
                    timestamp: string;
                    data: components["schemas"]["Withdrawal"] | {
                        id: string;
                    };
                };
            };
        };
        responses: {
            /** @description The receiver is gone for ever: the webhook is deactivated. */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description It was taken. Any other answer, or none in 10 s: it is sent again. */
            "2XX": {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    onWithdrawalStuck: {
        parameters: {
            query?: never;
            header: {
                /** @description The id of the event. Repeats have the same: receivers drop them. */
                "webhook-id": string;
                /** @description When it was sent, in seconds since the epoch. */
                "webhook-timestamp": string;
                /** @description Signatures, parted by blanks: one of them must be the receiver's. */
                "webhook-signature": string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @constant */
                    type: "withdrawal.stuck";
                    /**
                     * Format: date-time
                     * @description When it happened.
                     */
                    timestamp: string;
                    data: components["schemas"]["Withdrawal"] | {
                        id: string;
                    };
                };
            };
        };
        responses: {
            /** @description The receiver is gone for ever: the webhook is deactivated. */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description It was taken. Any other answer, or none in 10 s: it is sent again. */
            "2XX": {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    onTokenDeployed: {
        parameters: {
            query?: never;
            header: {
                /** @description The id of the event. Repeats have the same: receivers drop them. */
                "webhook-id": string;
                /** @description When it was sent, in seconds since the epoch. */
                "webhook-timestamp": string;
                /** @description Signatures, parted by blanks: one of them must be the receiver's. */
                "webhook-signature": string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @constant */
                    type: "token.deployed";
                    /**
                     * Format: date-time
                     * @description When it happened.
                     */
                    timestamp: string;
                    data: components["schemas"]["FungibleToken"] | {
                        id: string;
                    };
                };
            };
        };
        responses: {
            /** @description The receiver is gone for ever: the webhook is deactivated. */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description It was taken. Any other answer, or none in 10 s: it is sent again. */
            "2XX": {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    onMessageUpdated: {
        parameters: {
            query?: never;
            header: {
                /** @description The id of the event. Repeats have the same: receivers drop them. */
                "webhook-id": string;
                /** @description When it was sent, in seconds since the epoch. */
                "webhook-timestamp": string;
                /** @description Signatures, parted by blanks: one of them must be the receiver's. */
                "webhook-signature": string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @constant */
                    type: "message.updated";
                    /**
                     * Format: date-time
                     * @description When it happened.
                     */
                    timestamp: string;
                    data: components["schemas"]["Message"] | {
                        id: string;
                    };
                };
            };
        };
        responses: {
            /** @description The receiver is gone for ever: the webhook is deactivated. */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description It was taken. Any other answer, or none in 10 s: it is sent again. */
            "2XX": {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    onPersonsSyncFinished: {
        parameters: {
            query?: never;
            header: {
                /** @description The id of the event. Repeats have the same: receivers drop them. */
                "webhook-id": string;
                /** @description When it was sent, in seconds since the epoch. */
                "webhook-timestamp": string;
                /** @description Signatures, parted by blanks: one of them must be the receiver's. */
                "webhook-signature": string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @constant */
                    type: "persons.sync.finished";
                    /**
                     * Format: date-time
                     * @description When it happened.
                     */
                    timestamp: string;
                    data: components["schemas"]["PersonsSync"] | {
                        id: string;
                    };
                };
            };
        };
        responses: {
            /** @description The receiver is gone for ever: the webhook is deactivated. */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description It was taken. Any other answer, or none in 10 s: it is sent again. */
            "2XX": {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    onSolvencyDrift: {
        parameters: {
            query?: never;
            header: {
                /** @description The id of the event. Repeats have the same: receivers drop them. */
                "webhook-id": string;
                /** @description When it was sent, in seconds since the epoch. */
                "webhook-timestamp": string;
                /** @description Signatures, parted by blanks: one of them must be the receiver's. */
                "webhook-signature": string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @constant */
                    type: "solvency.drift";
                    /**
                     * Format: date-time
                     * @description When it happened.
                     */
                    timestamp: string;
                    data: components["schemas"]["Solvency"] | {
                        id: string;
                    };
                };
            };
        };
        responses: {
            /** @description The receiver is gone for ever: the webhook is deactivated. */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description It was taken. Any other answer, or none in 10 s: it is sent again. */
            "2XX": {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    onChainQuarantined: {
        parameters: {
            query?: never;
            header: {
                /** @description The id of the event. Repeats have the same: receivers drop them. */
                "webhook-id": string;
                /** @description When it was sent, in seconds since the epoch. */
                "webhook-timestamp": string;
                /** @description Signatures, parted by blanks: one of them must be the receiver's. */
                "webhook-signature": string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @constant */
                    type: "chain.quarantined";
                    /**
                     * Format: date-time
                     * @description When it happened.
                     */
                    timestamp: string;
                    data: {
                        id: string;
                        code: string;
                        detail: string;
                        at: number;
                    } | {
                        id: string;
                    };
                };
            };
        };
        responses: {
            /** @description The receiver is gone for ever: the webhook is deactivated. */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description It was taken. Any other answer, or none in 10 s: it is sent again. */
            "2XX": {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    onChainHalted: {
        parameters: {
            query?: never;
            header: {
                /** @description The id of the event. Repeats have the same: receivers drop them. */
                "webhook-id": string;
                /** @description When it was sent, in seconds since the epoch. */
                "webhook-timestamp": string;
                /** @description Signatures, parted by blanks: one of them must be the receiver's. */
                "webhook-signature": string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @constant */
                    type: "chain.halted";
                    /**
                     * Format: date-time
                     * @description When it happened.
                     */
                    timestamp: string;
                    data: {
                        chain: string;
                        network: string;
                        detail: string;
                        at: number;
                    } | {
                        id: string;
                    };
                };
            };
        };
        responses: {
            /** @description The receiver is gone for ever: the webhook is deactivated. */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description It was taken. Any other answer, or none in 10 s: it is sent again. */
            "2XX": {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    onChainLagging: {
        parameters: {
            query?: never;
            header: {
                /** @description The id of the event. Repeats have the same: receivers drop them. */
                "webhook-id": string;
                /** @description When it was sent, in seconds since the epoch. */
                "webhook-timestamp": string;
                /** @description Signatures, parted by blanks: one of them must be the receiver's. */
                "webhook-signature": string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @constant */
                    type: "chain.lagging";
                    /**
                     * Format: date-time
                     * @description When it happened.
                     */
                    timestamp: string;
                    data: {
                        chain: string;
                        network: string;
                        height: number;
                        scanned: number;
                        lag: number;
                        scanned_at: number;
                    } | {
                        id: string;
                    };
                };
            };
        };
        responses: {
            /** @description The receiver is gone for ever: the webhook is deactivated. */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description It was taken. Any other answer, or none in 10 s: it is sent again. */
            "2XX": {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    onRampCostLimited: {
        parameters: {
            query?: never;
            header: {
                /** @description The id of the event. Repeats have the same: receivers drop them. */
                "webhook-id": string;
                /** @description When it was sent, in seconds since the epoch. */
                "webhook-timestamp": string;
                /** @description Signatures, parted by blanks: one of them must be the receiver's. */
                "webhook-signature": string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @constant */
                    type: "ramp.cost_limited";
                    /**
                     * Format: date-time
                     * @description When it happened.
                     */
                    timestamp: string;
                    data: {
                        ramp: string;
                        chain: string;
                        network: string;
                        reason: string;
                    } | {
                        id: string;
                    };
                };
            };
        };
        responses: {
            /** @description The receiver is gone for ever: the webhook is deactivated. */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description It was taken. Any other answer, or none in 10 s: it is sent again. */
            "2XX": {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    onRampGasInsufficient: {
        parameters: {
            query?: never;
            header: {
                /** @description The id of the event. Repeats have the same: receivers drop them. */
                "webhook-id": string;
                /** @description When it was sent, in seconds since the epoch. */
                "webhook-timestamp": string;
                /** @description Signatures, parted by blanks: one of them must be the receiver's. */
                "webhook-signature": string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @constant */
                    type: "ramp.gas_insufficient";
                    /**
                     * Format: date-time
                     * @description When it happened.
                     */
                    timestamp: string;
                    data: {
                        account: string;
                        ramp: string;
                        chain: string;
                        network: string;
                        reason: string;
                    } | {
                        id: string;
                    };
                };
            };
        };
        responses: {
            /** @description The receiver is gone for ever: the webhook is deactivated. */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description It was taken. Any other answer, or none in 10 s: it is sent again. */
            "2XX": {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    onAddressPaused: {
        parameters: {
            query?: never;
            header: {
                /** @description The id of the event. Repeats have the same: receivers drop them. */
                "webhook-id": string;
                /** @description When it was sent, in seconds since the epoch. */
                "webhook-timestamp": string;
                /** @description Signatures, parted by blanks: one of them must be the receiver's. */
                "webhook-signature": string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @constant */
                    type: "address.paused";
                    /**
                     * Format: date-time
                     * @description When it happened.
                     */
                    timestamp: string;
                    data: {
                        account: string;
                        address: string;
                        chain: string;
                        network: string;
                        limit: number;
                        at: number;
                    } | {
                        id: string;
                    };
                };
            };
        };
        responses: {
            /** @description The receiver is gone for ever: the webhook is deactivated. */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description It was taken. Any other answer, or none in 10 s: it is sent again. */
            "2XX": {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    onRampTransferUpdated: {
        parameters: {
            query?: never;
            header: {
                /** @description The id of the event. Repeats have the same: receivers drop them. */
                "webhook-id": string;
                /** @description When it was sent, in seconds since the epoch. */
                "webhook-timestamp": string;
                /** @description Signatures, parted by blanks: one of them must be the receiver's. */
                "webhook-signature": string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @constant */
                    type: "ramp.transfer.updated";
                    /**
                     * Format: date-time
                     * @description When it happened.
                     */
                    timestamp: string;
                    data: components["schemas"]["RampTransfer"] | {
                        id: string;
                    };
                };
            };
        };
        responses: {
            /** @description The receiver is gone for ever: the webhook is deactivated. */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description It was taken. Any other answer, or none in 10 s: it is sent again. */
            "2XX": {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    onStopSet: {
        parameters: {
            query?: never;
            header: {
                /** @description The id of the event. Repeats have the same: receivers drop them. */
                "webhook-id": string;
                /** @description When it was sent, in seconds since the epoch. */
                "webhook-timestamp": string;
                /** @description Signatures, parted by blanks: one of them must be the receiver's. */
                "webhook-signature": string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @constant */
                    type: "stop.set";
                    /**
                     * Format: date-time
                     * @description When it happened.
                     */
                    timestamp: string;
                    data: components["schemas"]["Stop"] | {
                        id: string;
                    };
                };
            };
        };
        responses: {
            /** @description The receiver is gone for ever: the webhook is deactivated. */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description It was taken. Any other answer, or none in 10 s: it is sent again. */
            "2XX": {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    onStopLifted: {
        parameters: {
            query?: never;
            header: {
                /** @description The id of the event. Repeats have the same: receivers drop them. */
                "webhook-id": string;
                /** @description When it was sent, in seconds since the epoch. */
                "webhook-timestamp": string;
                /** @description Signatures, parted by blanks: one of them must be the receiver's. */
                "webhook-signature": string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @constant */
                    type: "stop.lifted";
                    /**
                     * Format: date-time
                     * @description When it happened.
                     */
                    timestamp: string;
                    data: components["schemas"]["Stop"] | {
                        id: string;
                    };
                };
            };
        };
        responses: {
            /** @description The receiver is gone for ever: the webhook is deactivated. */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description It was taken. Any other answer, or none in 10 s: it is sent again. */
            "2XX": {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    onCoinCorrected: {
        parameters: {
            query?: never;
            header: {
                /** @description The id of the event. Repeats have the same: receivers drop them. */
                "webhook-id": string;
                /** @description When it was sent, in seconds since the epoch. */
                "webhook-timestamp": string;
                /** @description Signatures, parted by blanks: one of them must be the receiver's. */
                "webhook-signature": string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @constant */
                    type: "coin.corrected";
                    /**
                     * Format: date-time
                     * @description When it happened.
                     */
                    timestamp: string;
                    data: ({
                        chain: string;
                        network: string;
                        ramp: string;
                        by: string | null;
                    } & {
                        [key: string]: unknown;
                    }) | {
                        id: string;
                    };
                };
            };
        };
        responses: {
            /** @description The receiver is gone for ever: the webhook is deactivated. */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description It was taken. Any other answer, or none in 10 s: it is sent again. */
            "2XX": {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    onJobDead: {
        parameters: {
            query?: never;
            header: {
                /** @description The id of the event. Repeats have the same: receivers drop them. */
                "webhook-id": string;
                /** @description When it was sent, in seconds since the epoch. */
                "webhook-timestamp": string;
                /** @description Signatures, parted by blanks: one of them must be the receiver's. */
                "webhook-signature": string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @constant */
                    type: "job.dead";
                    /**
                     * Format: date-time
                     * @description When it happened.
                     */
                    timestamp: string;
                    data: {
                        id: string;
                        name: string;
                        /** @description What it is about: ids. */
                        payload: {
                            [key: string]: string | null;
                        };
                        attempts: number;
                    } | {
                        id: string;
                    };
                };
            };
        };
        responses: {
            /** @description The receiver is gone for ever: the webhook is deactivated. */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description It was taken. Any other answer, or none in 10 s: it is sent again. */
            "2XX": {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    onWebhookDisabled: {
        parameters: {
            query?: never;
            header: {
                /** @description The id of the event. Repeats have the same: receivers drop them. */
                "webhook-id": string;
                /** @description When it was sent, in seconds since the epoch. */
                "webhook-timestamp": string;
                /** @description Signatures, parted by blanks: one of them must be the receiver's. */
                "webhook-signature": string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @constant */
                    type: "webhook.disabled";
                    /**
                     * Format: date-time
                     * @description When it happened.
                     */
                    timestamp: string;
                    data: components["schemas"]["Webhook"] | {
                        id: string;
                    };
                };
            };
        };
        responses: {
            /** @description The receiver is gone for ever: the webhook is deactivated. */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description It was taken. Any other answer, or none in 10 s: it is sent again. */
            "2XX": {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    onWebhookTest: {
        parameters: {
            query?: never;
            header: {
                /** @description The id of the event. Repeats have the same: receivers drop them. */
                "webhook-id": string;
                /** @description When it was sent, in seconds since the epoch. */
                "webhook-timestamp": string;
                /** @description Signatures, parted by blanks: one of them must be the receiver's. */
                "webhook-signature": string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @constant */
                    type: "webhook.test";
                    /**
                     * Format: date-time
                     * @description When it happened.
                     */
                    timestamp: string;
                    data: components["schemas"]["Webhook"] | {
                        id: string;
                    };
                };
            };
        };
        responses: {
            /** @description The receiver is gone for ever: the webhook is deactivated. */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description It was taken. Any other answer, or none in 10 s: it is sent again. */
            "2XX": {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
}
